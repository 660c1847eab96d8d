import { closeSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ProgramWatch } from '#serving'

/** Watches a program. Returns the reported texts, and a wait for the next one. */
async function watched(t: Test, text: string) {
  const path = join(t.testdir({ 'app.vox': text }), 'app.vox')
  const watch = new ProgramWatch(path)
  t.teardown(() => watch.close())
  const texts: string[] = []
  let onReport = (): void => undefined
  watch.listen(text, async next => {
    texts.push(next)
    onReport()
  })
  const reported = async (last: string): Promise<void> => {
    while (texts.at(-1) !== last) {
      await new Promise<void>(resolve => {
        onReport = resolve
      })
    }
  }
  // Waits until the watcher is ready: it reports nothing before.
  for (let save = 0; texts.length === 0; save++) {
    writeFileSync(path, `begun ${save}`)
    await sleep(100)
  }
  return { path, texts, reported }
}

t.test('a program that is truncated before it is written is not reported as empty', async t => {
  const { path, texts, reported } = await watched(t, 'first')
  const file = openSync(path, 'w')
  // Longer than two reads of a saved file.
  await sleep(400)
  writeSync(file, 'second')
  closeSync(file)
  await reported('second')
  t.notOk(texts.includes(''))
})

t.test('a save during the second read of the previous save is not reported as empty', async t => {
  const { path, texts, reported } = await watched(t, 'first')
  for (let delay = 60; delay < 100; delay += 2) {
    writeFileSync(path, `before ${delay}`)
    await reported(`before ${delay}`)
    await sleep(delay - 50)
    const file = openSync(path, 'w')
    await sleep(60)
    writeSync(file, `after ${delay}`)
    closeSync(file)
    await reported(`after ${delay}`)
  }
  t.notOk(texts.includes(''))
})

t.test('a program that remains empty is reported', async t => {
  const { path, reported } = await watched(t, 'first')
  truncateSync(path)
  await reported('')
  t.pass('it was')
})
