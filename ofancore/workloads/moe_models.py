"""Mixtures of experts by what their all-to-all needs, from `data/models/moe/*.yaml`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator

from ofancore.errors import ScenarioError
from ofancore.workloads import models
from ofancore.workloads.models import Size, read_model


class MoeModel(BaseModel):
    """A layer of routed experts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: str
    d_model: Size  # elements of a token's activation
    experts: Size  # routed ones of a layer
    top_k: Size  # experts a token
    nodes_per_token: Size | None  # that a token may be sent to; null: any number
    bytes_dispatched: Size  # an element on its way to the experts
    bytes_combined: Size  # and back

    @model_validator(mode="after")
    def _fits(self) -> MoeModel:
        if self.top_k > self.experts:
            raise ValueError("top_k must not be more than experts")
        return self


def names() -> list[str]:
    """The models there are files for."""
    return sorted(path.stem for path in (models.MODELS / "moe").glob("*.yaml"))


def load_moe(name: str) -> MoeModel:
    """The model of that name; ScenarioError if there is none or its file is not as it should be."""
    folder = models.MODELS / "moe"
    if not folder.is_dir():
        raise ScenarioError("workload.model", name, f"models are read from {folder}, which does not exist: run from a checkout")
    if name not in names():
        raise ScenarioError("workload.model", name, f"must be one of {', '.join(names())}")
    return read_model(folder / f"{name}.yaml", MoeModel)
