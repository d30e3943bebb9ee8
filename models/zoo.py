# SPDX-License-Identifier: Apache-2.0
"""Common models by name, small and with random weights, for compare.py. Needs torch and torchvision;
those of Hugging Face need transformers, those named timm_* need timm (imported when one is asked for). timm_NAME is small
where TIMM says how; timm_NAME of others and torchvision_NAME are as their libraries make them.

    python zoo.py                                # the names
    python zoo.py unet gpt2 -o /tmp              # each by both exporters, in training form
    python zoo.py bert --exporter=script --form=eval
    python zoo.py torchvision_resnet50 --weights=resnet50.safetensors    # pretrained, of a file that you have
"""

import argparse
import os
import warnings
from collections import namedtuple

import torch
from export import clean
from torch import nn
from torch.nn import functional as F

# build() -> module; inputs() -> its tensors; classes of its labels, 0 where its output is its own loss; step: the optimizer;
# losses: of a model with several.
Entry = namedtuple("Entry", "build inputs classes optimizer losses", defaults=["sgd", None])
# The names of its outputs; flags of dlc compile; of(*outputs) -> [(loss, how the names of what it trains begin)].
Losses = namedtuple("Losses", "outputs flags of")
SEED = 0


def images(size, batch=4, channels=3):
    return lambda: (torch.randn(batch, channels, size, size),)


def tokens(length=16, batch=4, kinds=100, parts=1):
    return lambda: tuple(torch.randint(2, kinds, (batch, length)) for _ in range(parts))


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())


class UNet(nn.Module):
    """[N,3,S,S] -> [N,4,S,S]: one level up by ConvTranspose, one by a bilinear Resize; group and instance norm."""

    def __init__(self, width=8):
        super().__init__()
        self.first, self.second, self.third = block(3, width), block(width, 2 * width), block(2 * width, 2 * width)
        self.grow = nn.Upsample(scale_factor=2, mode="bilinear")
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.norm = nn.InstanceNorm2d(width, affine=True)
        self.last, self.head = block(2 * width, width), nn.Conv2d(width, 4, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.second(F.max_pool2d(a, 2))
        b = b + self.grow(self.third(F.max_pool2d(b, 2)))
        return self.head(self.last(torch.cat([self.norm(self.up(b)), a], 1)))


class Diffusion(nn.Module):
    """A noisy image [N,4,S,S] and times [N] -> one of 4 kinds for each pixel; a residual block and attention, told the time."""

    def __init__(self, width=16):
        super().__init__()
        self.first, self.time = nn.Conv2d(4, width, 3, padding=1), nn.Linear(width, width)
        self.norm, self.conv = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.attended, self.qkv = nn.GroupNorm(4, width), nn.Conv2d(width, 3 * width, 1)
        self.head = nn.Conv2d(width, 4, 3, padding=1)
        self.register_buffer("waves", torch.exp(-torch.arange(width // 2) / 2.0))

    def forward(self, x, times):
        angles = times[:, None] * self.waves
        told = self.time(F.silu(torch.cat([angles.sin(), angles.cos()], 1)))
        h = self.first(x)
        h = h + self.conv(F.silu(self.norm(h) + told[:, :, None, None]))
        q, k, v = self.qkv(self.attended(h)).flatten(2).transpose(1, 2).chunk(3, 2)
        y = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
        return self.head(h + y.transpose(1, 2).reshape(h.shape))


class Recurrent(nn.Module):
    """Tokens [N,T] -> [N,5], by two layers of nn.KIND."""

    def __init__(self, kind, two_way, kinds=100, width=16, hidden=24, classes=5):
        super().__init__()
        self.table = nn.Embedding(kinds, width)
        self.layers = getattr(nn, kind)(width, hidden, 2, batch_first=True, bidirectional=two_way)
        self.head = nn.Linear(2 * hidden if two_way else hidden, classes)

    def forward(self, x):
        return self.head(self.layers(self.table(x))[0][:, -1])


class Graphs(nn.Module):
    """Nodes [N,8] and edges from, to [N] -> [N,3]: each node adds what its neighbours send. (index_add would be written
    by the older exporter as a scatter that adds nothing.)"""

    def __init__(self):
        super().__init__()
        self.embed, self.send, self.head = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)

    def forward(self, x, start, end):
        h = torch.relu(self.embed(x))
        for _ in range(2):
            sent = torch.tanh(self.send(h))[start]
            h = h + torch.zeros_like(h).scatter_add(0, end[:, None].expand_as(sent), sent)
        return self.head(h)


class Gains(nn.Module):
    """[N,8] -> [N,3]: parameters of one element, cast and reshaped as models do: ReZero's, a gate, a slope, a power, a scale."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        self.slope = nn.PReLU()
        self.alpha, self.gate, self.p = (nn.Parameter(torch.full((1,), n)) for n in (0.1, 0.3, 2.0))
        self.logit_scale, self.logit_bias = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))

    def forward(self, x):
        x = x + self.alpha.view(1, 1) * self.slope(self.first(x))
        share = torch.sigmoid(self.gate.unsqueeze(0))
        x = share * x + (1 - share) * torch.sigmoid(self.second(x)) ** self.p
        return self.head(x) * self.logit_scale.to(x.device).clamp(max=4.6).exp() + self.logit_bias.to(x.device)


class Experts(nn.Module):
    """[N,8] -> [N,3]: the two best of four experts, weighted."""

    def __init__(self):
        super().__init__()
        self.gate, self.head = nn.Linear(8, 4), nn.Linear(8, 3)
        self.experts = nn.Parameter(torch.randn(4, 8, 8) * 0.3)

    def forward(self, x):
        share, best = torch.topk(torch.softmax(self.gate(x), -1), 2)
        y = torch.einsum("bd,edf->bef", x, self.experts)
        y = torch.gather(y, 1, best[..., None].expand(-1, -1, 8))
        return self.head((y * share[..., None]).sum(1))


class Yolo(nn.Module):
    """Images and targets [N,6,S/4,S/4] (is there one, box of 4, kind) -> the loss itself: objects, boxes, kinds."""

    def __init__(self):
        super().__init__()
        c = lambda i, o, s: nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU())
        self.body, self.head = nn.Sequential(c(3, 8, 2), c(8, 16, 2), c(16, 16, 1)), nn.Conv2d(16, 8, 1)

    def forward(self, x, target):
        y = self.head(self.body(x))
        there = (target[:, :1] > 0.5).float()
        objects = F.binary_cross_entropy_with_logits(y[:, :1], there)
        corner, size = torch.sigmoid(y[:, 1:3]), torch.exp(torch.clamp(y[:, 3:5], -2, 2))
        low, high = target[:, 1:3], target[:, 1:3] + target[:, 3:5].abs() + 0.1
        both = (torch.minimum(corner + size, high) - torch.maximum(corner, low)).clamp(min=0).prod(1, keepdim=True)
        either = size.prod(1, keepdim=True) + (high - low).prod(1, keepdim=True) - both
        boxes = ((1 - both / either) * there).sum() / (there.sum() + 1)
        kinds = (F.softplus(y[:, 5:]) - y[:, 5:] * (target[:, 5:] > 0).float()).mean()
        return objects + 2 * boxes + kinds


class Gan(nn.Module):
    """Pictures [N,1,16,16] and noise [N,16] -> whether D takes the pictures, and those that G makes of the noise, for real, [N,1]
    each (logits): both networks in one graph, as DCGAN has them."""

    def __init__(self, width=8):
        super().__init__()
        up = lambda i, o, s, p: [nn.ConvTranspose2d(i, o, 4, s, p, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        self.g = nn.Sequential(nn.Unflatten(1, (16, 1, 1)), *up(16, 2 * width, 1, 0), *up(2 * width, width, 2, 1),
                               nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())
        self.d = nn.Sequential(nn.Conv2d(1, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
                               nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
                               nn.Conv2d(2 * width, 1, 4, bias=False), nn.Flatten())

    def forward(self, x, z):
        return self.d(x), self.d(self.g(z))


def gan_losses(real, fake):
    loss, one = F.binary_cross_entropy_with_logits, torch.ones_like(real)
    return [(loss(real, one) + loss(fake, 0 * one), "d."), (loss(fake, one), "g.")]


GAN = Losses(["real", "fake"], ["--loss=real:bce:label=1,fake:bce:label=0,fake:bce:label=1:as=fool", "--loss-params=^d:real",
                                "--loss-params=^d:fake", "--loss-params=^g:fool"], gan_losses)


class Only(nn.Module):
    """One output of a model that has many."""

    def __init__(self, model, key, **fixed):
        super().__init__()
        self.model, self.key, self.fixed = model, key, fixed

    def forward(self, *inputs):
        outputs = self.model(*inputs, **self.fixed)
        return outputs[self.key] if isinstance(outputs, dict) else getattr(outputs, self.key)


class Pairs(nn.Module):
    """Texts [N,T] and images [N,3,S,S] -> how well each text fits each image, [N,N], by a learned scale."""

    def __init__(self, model):
        super().__init__()
        self.m = model

    def forward(self, texts, x):
        return self.m(input_ids=texts, pixel_values=x).logits_per_text


def vision():
    import torchvision.models as tv

    tiny = dict(num_classes=10)
    zoo = {n: Entry(lambda n=n: getattr(tv, n)(**tiny), images(64), 10) for n in
           ["squeezenet1_1", "shufflenet_v2_x0_5", "regnet_y_400mf", "mnasnet0_5"]}
    zoo["resnet50"] = Entry(lambda: tv.ResNet(tv.resnet.Bottleneck, [3, 4, 6, 3], width_per_group=16, zero_init_residual=True,
                                          **tiny), images(64), 10)
    zoo["resnet18"] = Entry(lambda: tv.resnet18(zero_init_residual=True, **tiny), images(64), 10)
    zoo["densenet121"] = Entry(lambda: tv.DenseNet(8, (6, 12, 24, 16), 16, **tiny), images(64), 10)
    zoo["mobilenet_v3_small"] = Entry(lambda: tv.mobilenet_v3_small(dropout=0.0, **tiny), images(64), 10)
    zoo["efficientnet_b0"] = Entry(lambda: tv.efficientnet_b0(dropout=0.0, stochastic_depth_prob=0.0, **tiny), images(64), 10)
    zoo["convnext"] = Entry(lambda: tv.convnext.ConvNeXt(
        [tv.convnext.CNBlockConfig(16, 32, 2), tv.convnext.CNBlockConfig(32, None, 2)], stochastic_depth_prob=0.0, **tiny),
        images(64), 10, "adamw")
    zoo["vgg"] = Entry(lambda: nn.Sequential(
        tv.vgg.make_layers([8, "M", 16, "M", 32, 32, "M", 64, 64, "M"], batch_norm=True), nn.Flatten(),
        nn.Linear(64 * 4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), images(32), 10)
    zoo["inception_v3"] = Entry(lambda: tv.inception_v3(aux_logits=False, init_weights=False, dropout=0.0, **tiny), images(96, 8), 10)
    zoo["swin"] = Entry(lambda: tv.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, **tiny),
                        images(64), 10, "adamw")
    zoo["vit"] = Entry(lambda: tv.VisionTransformer(64, 16, 2, 2, 32, 64, **tiny), images(64), 10, "adamw")
    zoo["maxvit"] = Entry(lambda: tv.MaxVit((64, 64), 16, 2, [16, 32], [1, 1], 8, 0.0, **tiny), images(64), 10, "adamw")
    zoo["deeplab"] = Entry(lambda: Only(tv.segmentation.deeplabv3_mobilenet_v3_large(num_classes=5, weights_backbone=None), "out"),
                           images(64), 5)
    zoo["lraspp"] = Entry(lambda: Only(tv.segmentation.lraspp_mobilenet_v3_large(num_classes=5, weights_backbone=None), "out"),
                          images(64), 5)
    zoo["r3d"] = Entry(lambda: tv.video.VideoResNet(
        tv.video.resnet.BasicBlock, [tv.video.resnet.Conv3DSimple] * 4, [1, 1, 1, 1], tv.video.resnet.BasicStem, num_classes=5),
        lambda: (torch.randn(2, 3, 4, 32, 32),), 5)
    return zoo


def language():
    import transformers as T

    small = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                 max_position_embeddings=64)
    still = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    grouped = dict(small, num_key_value_heads=2, use_cache=False)
    zoo = {}

    def add(name, model, config, inputs=tokens(), classes=100, **fixed):
        zoo[name] = Entry(lambda: Only(getattr(T, model)(config()), "logits", **fixed), inputs, classes, "adamw")

    add("bert", "BertForSequenceClassification", lambda: T.BertConfig(**small, **still, num_labels=3), classes=3)
    add("roberta", "RobertaForSequenceClassification", lambda: T.RobertaConfig(**small, **still, num_labels=3), classes=3)
    add("deberta", "DebertaV2ForSequenceClassification", lambda: T.DebertaV2Config(
        **small, **still, num_labels=3, relative_attention=True, pos_att_type=["p2c", "c2p"]), classes=3)
    add("deit", "DeiTForImageClassification", lambda: T.DeiTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8, **still,
        num_labels=10), images(32), 10)
    add("gpt2", "GPT2LMHeadModel", lambda: T.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64,
                                                        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False))
    add("llama", "LlamaForCausalLM", lambda: T.LlamaConfig(**grouped))
    add("qwen2", "Qwen2ForCausalLM", lambda: T.Qwen2Config(**grouped))
    add("mixtral", "MixtralForCausalLM", lambda: T.MixtralConfig(**grouped, num_local_experts=4))
    add("gptneox", "GPTNeoXForCausalLM", lambda: T.GPTNeoXConfig(**small, use_cache=False))
    add("opt", "OPTForCausalLM", lambda: T.OPTConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=64,
        dropout=0.0, word_embed_proj_dim=32, use_cache=False))
    add("mamba", "MambaForCausalLM", lambda: T.MambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, state_size=8,
                                                           use_cache=False), tokens(8))
    add("whisper", "WhisperForAudioClassification", lambda: T.WhisperConfig(
        d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=16, max_source_positions=16,
        dropout=0.0, num_labels=3), lambda: (torch.randn(4, 16, 32),), 3)
    add("segformer", "SegformerForSemanticSegmentation", lambda: T.SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32], patch_sizes=[3, 3], strides=[2, 2],
        num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, num_labels=4, classifier_dropout_prob=0.0,
        drop_path_rate=0.0, **still), images(32), 4)

    class Translate(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = T.T5ForConditionalGeneration(T.T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                                                             num_heads=4, dropout_rate=0.0, use_cache=False))

        def forward(self, source, target):
            return self.m(input_ids=source, decoder_input_ids=target, use_cache=False).logits

    zoo["t5"] = Entry(Translate, tokens(12, parts=2), 100, "adamw")
    sides = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64)
    text, vision = dict(sides, vocab_size=100, max_position_embeddings=16), dict(sides, image_size=32, patch_size=8)
    pairs = lambda: (torch.randint(3, 100, (4, 8)), torch.randn(4, 3, 32, 32))
    zoo["clip"] = Entry(lambda: Pairs(T.CLIPModel(T.CLIPConfig(
        text_config=dict(text, eos_token_id=2), vision_config=vision, projection_dim=16))), pairs, 4, "adamw")
    zoo["siglip"] = Entry(lambda: Pairs(T.SiglipModel(T.SiglipConfig(text_config=text, vision_config=vision))), pairs, 4, "adamw")
    return zoo


def own():
    edges = lambda: (torch.randn(12, 8), torch.randint(0, 12, (12,)), torch.randint(0, 12, (12,)))
    return {
        "unet": Entry(UNet, images(16), 4),
        "gan": Entry(Gan, lambda: (torch.randn(8, 1, 16, 16), torch.randn(8, 16)), 0, "sgd", GAN),
        "diffusion": Entry(Diffusion, lambda: (torch.randn(4, 4, 8, 8), torch.rand(4) * 10), 4, "adamw"),
        "lstm": Entry(lambda: Recurrent("LSTM", True), tokens(), 5),
        "gru": Entry(lambda: Recurrent("GRU", False), tokens(), 5),
        "rnn": Entry(lambda: Recurrent("RNN", True), tokens(6), 5),
        "graph": Entry(Graphs, edges, 3),
        "gains": Entry(Gains, lambda: (torch.randn(8, 8),), 3),
        "experts": Entry(Experts, lambda: (torch.randn(8, 8),), 3, "adamw"),
        "yolo": Entry(Yolo, lambda: (torch.randn(4, 3, 32, 32), torch.randn(4, 6, 8, 8)), 0),
    }


VIT = dict(img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=2)
SWIN = dict(img_size=32, window_size=4, embed_dim=16, depths=(2, 2), num_heads=(2, 4))
# name: what makes it small; classes of timm.models where their functions fix the size
TIMM = {
    "mobilenetv3_small_050": {}, "mobilenetv4_conv_small_050": {}, "efficientnet_lite0": {}, "regnetx_002": {}, "ghostnet_050": {},
    "edgenext_xx_small": {}, "mobilevit_xxs": {}, "inception_next_atto": {}, "test_resnet": {}, "test_nfnet": {},
    "test_efficientnet": {}, "test_mambaout": {}, "convnextv2_atto": dict(depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
    "vit_tiny_patch16_224": VIT, "beit_base_patch16_224": VIT, "eva02_tiny_patch14_224": VIT,
    "cait_xxs24_224": dict(VIT, depth_token_only=1), "xcit_nano_12_p16_224": {k: v for k, v in VIT.items() if k != "patch_size"},
    "swin_tiny_patch4_window7_224": SWIN, "swinv2_tiny_window8_256": SWIN,
    "mlp_mixer.MlpMixer": dict(img_size=32, patch_size=8, num_blocks=2, embed_dim=32),
}


def of_timm(name):
    import timm

    small = TIMM.get(name, {})
    if "." in name:
        module, kind = name.split(".")
        return Entry(lambda: getattr(getattr(timm.models, module), kind)(num_classes=10, **small), images(32), 10, "adamw")
    size = small.get("img_size", 64 if name in TIMM else 224)
    return Entry(lambda: timm.create_model(name, num_classes=10, drop_rate=0.0, **small), images(size), 10,
                 "adamw" if "img_size" in small else "sgd")


def of_torchvision(name):
    import torchvision.models as tv

    return Entry(lambda: tv.get_model(name, weights=None), images(224), 1000)


def entry(name):
    """Of a name; a library is imported only for one of its own."""
    for prefix, maker in {"timm_": of_timm, "torchvision_": of_torchvision}.items():
        if name.startswith(prefix):
            return maker(name[len(prefix):])
    for group in own, vision, language:
        found = group()
        if name in found:
            return found[name]
    raise SystemExit(f"unknown model {name}; python zoo.py lists them")


def names():
    return [*own(), *vision(), *language(), *("timm_" + name for name in TIMM)]


def make(name, weights=None):
    """A fresh model in training mode; the same weights each time, or those of a safetensors file."""
    torch.manual_seed(SEED)
    model = entry(name).build()
    if weights:
        from safetensors.torch import load_file

        model.load_state_dict(load_file(weights))
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0  # two generators do not agree
        elif type(module).__name__ == "DropPath":
            module.drop_prob = 0.0
    return model.train()


def export(name, exporter, form, path, weights=None):
    """exporter: script or dynamo; form: train, or eval with constants folded as people export it."""
    model, torch_inputs = make(name, weights), entry(name).inputs()
    input_names = [f"x{i}" for i in range(len(torch_inputs))] if len(torch_inputs) > 1 else ["x"]
    losses = entry(name).losses
    options = dict(input_names=input_names, output_names=losses.outputs if losses else ["out"])
    fresh = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    model.train(form == "train")
    if exporter == "dynamo":
        torch.onnx.export(model, torch_inputs, path, dynamo=True, external_data=False, verbose=False,
                          optimize=form == "eval", **options)
    else:
        mode = torch.onnx.TrainingMode.TRAINING if form == "train" else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(model, torch_inputs, path, dynamo=False, training=mode, do_constant_folding=form == "eval", **options)
    clean(path, fresh)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; none: print all names")
    parser.add_argument("-o", "--output", default=".", help="folder of the files (default: .)")
    parser.add_argument("--exporter", choices=["script", "dynamo"], help="exporter (default: both)")
    parser.add_argument("--form", choices=["train", "eval"], default="train", help="form of the export (default: train)")
    parser.add_argument("--weights", metavar="FILE", help=".safetensors file with the names and shapes of the model's state_dict")
    options = parser.parse_args()
    if not options.names:
        print(*names(), "timm_NAME", "torchvision_NAME", sep="\n")
    for name in options.names:
        for exporter in [options.exporter] if options.exporter else ["script", "dynamo"]:
            path = os.path.join(options.output, f"{name}-{exporter}-{options.form}.onnx")
            export(name, exporter, options.form, path, options.weights)
            print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
