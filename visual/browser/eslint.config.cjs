// What is checked of the scripts and how long they may be:
// NODE_PATH=DIR/node_modules DIR/node_modules/.bin/eslint -c visual/browser/eslint.config.cjs visual/browser/js
// after npm install --prefix DIR eslint@10.15.0 @eslint/js@10.0.1. Circles of imports: bundle.py.
const js = require('@eslint/js');

const BROWSER = [
  'Blob', 'CompressionStream', 'CustomEvent', 'DOMParser', 'DecompressionStream', 'FileReader',
  'MutationObserver', 'Option', 'ResizeObserver', 'Response', 'URL', 'URLSearchParams',
  'atob', 'clearInterval', 'clearTimeout', 'document', 'fetch', 'getComputedStyle', 'history',
  'localStorage', 'location', 'matchMedia', 'navigator', 'performance', 'queueMicrotask',
  'requestAnimationFrame', 'setInterval', 'setTimeout', 'window',
];
const LIBRARY = ['Plotly'];

module.exports = [
  js.configs.recommended,
  {
    languageOptions: {
      sourceType: 'module',
      globals: Object.fromEntries([...BROWSER, ...LIBRARY].map((name) => [name, 'readonly'])),
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-unused-vars': 'error',
      'no-undef': 'error',
      'no-shadow': 'off',
      'no-duplicate-imports': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      eqeqeq: 'error',
      'max-lines': ['error', { max: 300 }],
      'max-lines-per-function': ['error', { max: 50 }],
    },
  },
];
