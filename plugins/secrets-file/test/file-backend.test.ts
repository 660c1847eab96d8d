import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { secretBackendSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { fileBackend } from '#root'

const folder = t.testdir({ TOKEN: 'opensesame\n', EMPTY: '\n', LINES: 'first\nsecond\n\n', folder: {} })

const suite = secretBackendSuite({
  backend: fileBackend(folder),
  known: { name: 'TOKEN', value: 'opensesame' },
  unknown: 'MISSING'
})

for (const { name, run } of suite) t.test(name, run)

const codeOf = (name: string): Promise<unknown> =>
  fileBackend(folder)
    .resolve(name)
    .then(
      () => null,
      (error: { readonly code: string }) => error.code
    )

t.test('only one line break at the end is removed', async t => {
  t.equal(await fileBackend(folder).resolve('LINES'), 'first\nsecond\n')
})

t.test('an empty file is no secret', async t => {
  t.equal(await codeOf('EMPTY'), 'SEC_NOT_FOUND')
})

t.test('a folder and a file that is too large are errors that do not show the content', async t => {
  writeFileSync(join(folder, 'LARGE'), 'hidden'.repeat(20_000))
  t.equal(await codeOf('folder'), 'SEC_STORE_FAILED')
  const error = await fileBackend(folder)
    .resolve('LARGE')
    .catch((caught: unknown) => caught as Error)
  t.match(error, { code: 'SEC_STORE_FAILED', message: /120000 bytes/ })
  t.notMatch(JSON.stringify(error), 'hidden')
})

t.test('a file is read at each call, also through links as Kubernetes makes them', async t => {
  const backend = fileBackend(folder)
  writeFileSync(join(folder, 'before'), 'one')
  symlinkSync('before', join(folder, 'LINKED'))
  t.equal(await backend.resolve('LINKED'), 'one')
  writeFileSync(join(folder, 'before'), 'two')
  t.equal(await backend.resolve('LINKED'), 'two')
})
