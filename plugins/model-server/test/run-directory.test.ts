import { renameSync, utimesSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { runDirectoryState } from '#root'

t.test('the fingerprint changes only with names, sizes and times of files', async t => {
  const directory = t.testdir({ 'config.json': '{}', 'model.safetensors': 'abc' })
  const then = new Date('2026-01-02T03:04:05Z')
  const config = `${directory}/config.json`
  const weights = `${directory}/model.safetensors`
  const touch = () => {
    utimesSync(config, then, then)
    utimesSync(weights, then, then)
  }
  touch()
  const first = await runDirectoryState(directory)
  t.same(first.modifiedAt, then)
  t.same(await runDirectoryState(directory), first)

  utimesSync(weights, then, new Date('2026-01-02T03:04:06Z'))
  const later = await runDirectoryState(directory)
  t.not(later.fingerprint, first.fingerprint)
  t.same(later.modifiedAt, new Date('2026-01-02T03:04:06Z'))

  writeFileSync(weights, 'abcd')
  touch()
  t.not((await runDirectoryState(directory)).fingerprint, first.fingerprint)

  writeFileSync(weights, 'abc')
  touch()
  t.equal((await runDirectoryState(directory)).fingerprint, first.fingerprint)
  renameSync(config, `${directory}/configuration.json`)
  t.not((await runDirectoryState(directory)).fingerprint, first.fingerprint)
})

t.test('the fingerprint of a GGUF file changes with all parts of its set, and with no other file', async t => {
  const parts = { 'm-00001-of-00002.gguf': 'a', 'm-00002-of-00002.gguf': 'b' }
  const directory = t.testdir({ ...parts, 'other.gguf': 'c', 'm-00002-of-00003.gguf': 'd' })
  const state = () => runDirectoryState(`${directory}/m-00001-of-00002.gguf`)
  const first = await state()
  writeFileSync(`${directory}/other.gguf`, 'changed')
  writeFileSync(`${directory}/m-00002-of-00003.gguf`, 'changed')
  t.same(await state(), first)
  writeFileSync(`${directory}/m-00002-of-00002.gguf`, 'changed')
  t.not((await state()).fingerprint, first.fingerprint)
  t.not((await runDirectoryState(`${directory}/other.gguf`)).fingerprint, (await state()).fingerprint)
})

t.test('the error about a path that is not a directory names the path and its setting', async t => {
  const directory = t.testdir({ file: '' })
  await t.rejects(runDirectoryState(`${directory}/file`), {
    code: 'MSV_RUN_DIRECTORY',
    message: /file .* is not a directory/
  })
  await t.rejects(runDirectoryState(`${directory}/none`), {
    code: 'MSV_RUN_DIRECTORY',
    message: /none .* does not exist/,
    at: { path: 'plugins.model-server.model' }
  })
})
