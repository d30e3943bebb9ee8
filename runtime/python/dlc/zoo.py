# SPDX-License-Identifier: Apache-2.0
"""Models of timm, torchvision and transformers by name, as dlc.from_torch takes them.

    module, example = dlc.zoo.create("timm/resnet18.a1_in1k", classes=10)
    artifact = dlc.from_torch(module, example, "resnet18.dlc", batch=32, lr=0.01)
"""

from __future__ import annotations

import builtins
import fnmatch
import importlib
from typing import Any, Callable

from dlc.errors import UsageError

BATCH = 2  # of the example; from_torch's `batch` sets the program's
TOKENS = 128  # length of an example text, if the model supports it


def _timm(name: str, classes: int | None, pretrained: bool, given: dict[str, Any]) -> tuple[Any, Any]:
    import timm
    import torch

    if classes is not None:
        given["num_classes"] = classes
    module = timm.create_model(name, pretrained=pretrained, **given)
    return module, torch.rand(BATCH, *timm.data.resolve_model_data_config(module)["input_size"])


def _torchvision(name: str, classes: int | None, pretrained: bool, given: dict[str, Any]) -> tuple[Any, Any]:
    """Pretrained tensors whose shape differs from the model's, such as a new head's, keep their initial values."""
    import torch
    from torchvision import models

    weights = models.get_model_weights(name).DEFAULT
    if classes is not None:
        given["num_classes"] = classes
    module = models.get_model(name, weights=None, **given)
    if pretrained:
        own = module.state_dict()
        module.load_state_dict({key: value for key, value in weights.get_state_dict(progress=False).items()
                                if key in own and own[key].shape == value.shape}, strict=False)
    size = getattr(weights.transforms(), "crop_size", None)
    if not size:
        raise UsageError(f"'torchvision/{name}' does not read pictures of one size: give dlc.from_torch a module and an example")
    return module, torch.rand(BATCH, 3, size[0], size[-1])


def _transformers(name: str, classes: int | None, pretrained: bool, given: dict[str, Any]) -> tuple[Any, Any]:
    """The class that the configuration names; with `classes`, a classifier of text, pictures or sound."""
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(name, **given)
    config.use_cache = False  # only the logits
    if classes is not None:
        config.num_labels = classes
    heads = [getattr(transformers, f"AutoModelFor{kind}Classification") for kind in ("Sequence", "Image", "Audio")]
    made = [head for head in heads if type(config) in head._model_mapping]
    own = getattr(transformers, (config.architectures or ["AutoModel"])[0])
    if classes is not None and not made:
        raise UsageError(f"transformers has no '{config.model_type}' that classifies: leave out classes")
    kind = own if classes is None else made[0]
    if pretrained:
        module = kind.from_pretrained(name, config=config, ignore_mismatched_sizes=True)
    else:
        module = kind.from_config(config) if hasattr(kind, "from_config") else kind(config)
    key = module.main_input_name
    if key == "pixel_values":
        size = config.image_size
        sides = size if isinstance(size, (builtins.list, tuple)) else (size, size)
        return module, {key: torch.rand(BATCH, config.num_channels, *sides)}
    if key != "input_ids":
        raise UsageError(f"'transformers/{name}' reads {key}: give dlc.from_torch the module and an example")
    length = min(TOKENS, getattr(config, "max_position_embeddings", None) or TOKENS)
    return module, {key: torch.randint(3, config.vocab_size, (BATCH, length))}


LIBRARIES: dict[str, Callable[..., tuple[Any, Any]]] = {"timm": _timm, "torchvision": _torchvision, "transformers": _transformers}


def _parts(name: str) -> tuple[str, str]:
    library, slash, rest = name.partition("/")
    if not slash or not rest or library not in LIBRARIES:
        raise UsageError(f"'{name}': expected {', '.join(f'{known}/NAME' for known in LIBRARIES)}, as in timm/resnet18.a1_in1k")
    try:
        importlib.import_module(library)
    except ImportError as error:
        raise UsageError(f"'{name}' needs the package {error.name}: pip install {library}") from error
    return library, rest


def create(name: str, *, classes: int | None = None, pretrained: bool = True, **options: Any) -> tuple[Any, Any]:
    """Returns the module and example inputs for dlc.from_torch.

    `classes`: number of classes of a new head. Pretrained weights come from the library, which caches or downloads them;
    `pretrained=False` initializes randomly. `options` are those of the library's function (`drop_rate=0.1`, `features_only=True`)."""
    library, rest = _parts(name)
    try:
        return LIBRARIES[library](rest, classes, pretrained, options)
    except (OSError, RuntimeError, ValueError) as error:  # including the hubs' errors
        if isinstance(error, UsageError):
            raise
        advice = "; if its weights are neither in the cache nor can be downloaded, pretrained=False starts from random ones"
        raise UsageError(f"{library} cannot make '{name}': {str(error).strip()}{advice if pretrained else ''}") from error


def list(pattern: str) -> builtins.list[str]:
    """Names for `create` that match a pattern, such as timm/resnet*; for transformers those in the Hugging Face cache."""
    library, rest = _parts(pattern)
    if library == "timm":
        import timm
        names = {*timm.list_models(), *timm.list_pretrained()}
    elif library == "torchvision":
        from torchvision import models
        names = {*models.list_models(module=models)}
    else:
        import huggingface_hub
        try:
            names = {repo.repo_id for repo in huggingface_hub.scan_cache_dir().repos if repo.repo_type == "model"}
        except huggingface_hub.errors.CacheNotFound:
            names = set()
    return sorted(f"{library}/{name}" for name in names if fnmatch.fnmatchcase(name, rest))
