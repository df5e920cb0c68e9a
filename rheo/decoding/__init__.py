"""The decoding loop: prefill, draft, verify, commit, and what is recorded of it.

A loaded pair, a prompt and `DecodeParams` come in; decoded rounds come out one at a time, and on
demand the trace's `Round` and `Run`. Read engine first, then loop (a round from draft to commit)
with output_text, finite (what logits must be), watch (what may end it, and times a plain step),
timing and round_cost (what a budget knows of this machine); then round_buffer (the one copy to the
host), verdict_steps, round_record and recorder, which make the trace of it; generation is the
stream that the public API offers.
"""
