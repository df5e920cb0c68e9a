// A saved page's viewer: the scripts of `SCRIPTS` in the scope that gr.HTML gives them on the page.
function viewer(element, props, trigger, watch) {
/* SCRIPTS */
}
