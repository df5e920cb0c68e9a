"""What the `spaces` package looks for in torch and a CPU build lacks."""


def not_in_bad_fork() -> bool:
    """Is sent to another process, by its name."""
    return False


def a_cuda_build() -> None:
    """Before `spaces` is imported with SPACES_ZERO_GPU set."""
    import torch

    torch.version.cuda = torch.version.cuda or "12.8"
    torch._C._cuda_init = getattr(torch._C, "_cuda_init", lambda: None)
    torch.cuda._exchange_device = getattr(torch.cuda, "_exchange_device", lambda device: device)
    torch.cuda._is_in_bad_fork = not_in_bad_fork
