const $name = (() => {
$body
return $name;
})();
