"""The browser side: what is sent to it, and the scripts, styles and templates that it runs.

In comes a trace; `messages` turns it into small JSON made of views, `component` puts templates and
scripts into Gradio's HTML component, and `html_export` puts all of it into one file that needs no
server. The scripts in `js/` are ES modules with one exported thing each, which `bundle` joins into
one function body, so that nothing has to be built or fetched: `page/` and `dilemma/` hold the
starting points, `viewer/` shows a run and holds all that changes in one object (a page may have
several), `panel/` and `tree/` are its parts, `state/` what it knows, `widgets/` what knows nothing
of a run; `wrap/` holds what the bundle puts around them. `css/` and `html/` hold styles and
templates, which `source_files` reads. Read in the order messages, bundle, js/viewer/viewer.js,
component, html_export.
"""
