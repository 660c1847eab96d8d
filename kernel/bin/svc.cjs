#!/usr/bin/env node
const { main } = require('./program.cjs')

main(process.argv.slice(2)).then(code => {
  process.exitCode = code
})
