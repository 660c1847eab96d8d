#!/usr/bin/env node
const { main } = require('@svc/kernel/cli')

main(process.argv.slice(2)).then(code => {
  process.exitCode = code
})
