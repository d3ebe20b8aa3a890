// The build of recheck that is JavaScript alone: its main one would start a thread, or Java, to answer synchronously.
// CommonJS, since it is loaded in the middle of a registration. The published package has all of it in this file.
module.exports = require('recheck/lib/browser.js');
