"""The pages: one module a page, and the modules that wire its controls.

In come what a visitor does and what a link says; out go messages for the viewer and updates of the
controls. A page only wires: what is shown is made in `visual.browser.messages`, what is decoded in
`visual.runtime`. Read playground, then controls, slider_constraints, rerun, recorded_runs,
url_state with link_values, deep_link; dilemma is the other page, with node_request (what a browser
may ask of it) and small_worlds (its enumerations and simulations).
"""
