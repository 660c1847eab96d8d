import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as conformance from '@svc/contracts/conformance'
import t from 'tap'
import { ROOT } from './error-codes.ts'

t.test('the page about testing lists every conformance suite of the contracts', t => {
  const page = readFileSync(join(ROOT, 'docs/authoring/testing.md'), 'utf8')
  const suites = Object.keys(conformance).filter(name => name.endsWith('Suite'))
  t.not(suites.length, 0)
  t.same(
    suites.filter(name => !page.includes(`| \`${name}(`)),
    []
  )
  t.end()
})
