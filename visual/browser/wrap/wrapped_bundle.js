(() => {
'use strict';
$modules
$start($arguments);
})();
