"""Language models by their architecture, from `data/models/*.yaml`; parameters are counted from it, exactly.

A layer is attention with grouped queries (four projections), a gated feed-forward network (three) and two norms (RMSNorm: one weight
a dimension). Around the layers are the embeddings, the last norm and the output head. Nothing has a bias.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ofancore.errors import ScenarioError
from ofancore.reading import read_yaml

MODELS = Path(__file__).parents[2] / "data" / "models"
Size = Annotated[int, Field(ge=1, le=10**9)]
Architecture = TypeVar("Architecture", bound=BaseModel)


class Model(BaseModel):
    """The architecture of a decoder-only transformer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: str
    layers: Size
    d_model: Size
    d_ffn: Size
    heads: Size
    kv_heads: Size
    vocabulary: Size
    tied_embeddings: bool

    @property
    def layer_parameters(self) -> int:
        """Parameters of one layer: q, o; k, v; gate, up, down; two norms."""
        d, kv = self.d_model, self.d_model // self.heads * self.kv_heads
        return 2 * d * d + 2 * d * kv + 3 * d * self.d_ffn + 2 * d

    @property
    def parameters(self) -> int:
        """Parameters of the whole model."""
        embeddings = self.vocabulary * self.d_model * (1 if self.tied_embeddings else 2)
        return self.layers * self.layer_parameters + embeddings + self.d_model


def names() -> list[str]:
    """The models there are files for."""
    return sorted(path.stem for path in MODELS.glob("*.yaml"))


def load_model(name: str) -> Model:
    """The model of that name; ScenarioError if there is none or its file is not as it should be."""
    if not MODELS.is_dir():
        raise ScenarioError("workload.model", name, f"models are read from {MODELS}, which does not exist: run from a checkout")
    if name not in names():
        raise ScenarioError("workload.model", name, f"must be one of {', '.join(names())}")
    return read_model(MODELS / f"{name}.yaml", Model)


@cache
def read_model(path: Path, entry: type[Architecture]) -> Architecture:
    """The architecture in a file."""
    try:
        return entry.model_validate(read_yaml(path, "model"))
    except (ScenarioError, ValidationError) as e:
        first = e.errors()[0] if isinstance(e, ValidationError) else None
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else e
        raise ScenarioError("workload.model", path.stem, f"{path} cannot be used: {why}") from None
