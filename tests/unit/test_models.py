"""Parameter counts of the models, exactly, and what is refused."""

import pytest

from ofancore.errors import ScenarioError
from ofancore.workloads import models
from ofancore.workloads.models import load_model, names


@pytest.mark.parametrize(
    ("name", "layer", "total"),
    [
        ("llama3_8b", 218_112_000, 8_030_261_248),
        ("llama3_70b", 855_654_400, 70_553_706_496),
        ("llama3_405b", 3_187_703_808, 405_853_388_800),
    ],
)
def test_parameters_are_those_of_the_released_models(name, layer, total):
    model = load_model(name)
    assert (model.layer_parameters, model.parameters) == (layer, total)


def test_a_layer_by_hand():
    """Two heads of 4 and one of keys and values: q, o 8 x 8; k, v 8 x 4; gate, up, down 8 x 10; two norms of 8."""
    small = {"title": "small", "layers": 3, "d_model": 8, "d_ffn": 10, "heads": 2, "kv_heads": 1, "vocabulary": 100}
    apart, tied = (models.Model(**small, tied_embeddings=tied) for tied in (False, True))
    assert apart.layer_parameters == 2 * 64 + 2 * 32 + 3 * 80 + 2 * 8
    assert apart.parameters == 3 * apart.layer_parameters + 2 * 800 + 8
    assert tied.parameters == apart.parameters - 800


def test_every_file_is_a_model():
    assert names() == ["llama3_405b", "llama3_70b", "llama3_8b"]
    assert [load_model(name).title for name in names()] == ["Llama 3 405B", "Llama 3 70B", "Llama 3 8B"]


@pytest.mark.parametrize("name", ["llama4", "", "../models/llama3_8b", "llama3_8b.yaml"])
def test_unknown_model_is_refused_with_the_known_ones(name):
    with pytest.raises(ScenarioError) as e:
        load_model(name)
    assert str(e.value) == f"workload.model = {name!r}: must be one of llama3_405b, llama3_70b, llama3_8b"


def test_missing_folder_and_broken_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "MODELS", tmp_path / "none")
    with pytest.raises(ScenarioError, match=r"which does not exist: run from a checkout"):
        load_model("llama3_8b")
    monkeypatch.setattr(models, "MODELS", tmp_path)
    for text, why in [
        ("layers: 3", "title: Field required"),
        ("[", "while parsing"),
        ("title: 7", "title: Input should be a valid string"),
        ("title: a\ntitle: b", "title = 'b': is given twice, on lines 1 and 2"),
    ]:
        (tmp_path / "mine.yaml").write_text(text)
        models.read_model.cache_clear()
        with pytest.raises(ScenarioError, match=r"^workload.model = 'mine': .*mine.yaml cannot be used: .*" + why):
            load_model("mine")
    models.read_model.cache_clear()
