// Bundled as one file, so that formats and validator share one copy of ajv's code generator.
const { Ajv2020 } = require('ajv/dist/2020.js')

module.exports = { Ajv2020, addFormats: ajv => require('ajv-formats').default(ajv) }
