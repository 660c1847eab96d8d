import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const source = (path: string): URL => new URL(`../../src/${path}`, import.meta.url)

/** Returns the files that a script imports, also through others. Imports of types are not run. */
function importsOf(start: URL, found = new Set<string>()): ReadonlySet<string> {
  const path = fileURLToPath(start)
  if (found.has(path)) return found
  found.add(path)
  const text = readFileSync(start, 'utf8').replace(/^(?:import|export) type [^']*'[^']*'$/gm, '')
  for (const [, target] of text.matchAll(/^(?:import|export)\b[^']*'(\.[^']+)'$/gm)) {
    importsOf(new URL(target as string, start), found)
  }
  return found
}

// A hash of a password takes 128 MB. Of these, only two are made at a time, which the main thread ensures.
t.test('threads of programs cannot hash passwords', async t => {
  const passwords = fileURLToPath(source('auth/users/passwords.ts'))
  t.ok(importsOf(source('auth/open-users.ts')).has(passwords))
  for (const script of ['worker/main.ts', 'serving/program-thread.ts', 'serving/lookup-runner.ts']) {
    const found = importsOf(source(script))
    t.ok(found.size > 20, script)
    t.notOk(found.has(passwords), script)
  }
})
