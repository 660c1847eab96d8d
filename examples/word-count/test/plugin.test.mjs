import assert from 'node:assert/strict'
import test from 'node:test'
import { assertNoLeaks, loadPlugin, testPlugin } from '@svc/plugin-sdk/testing'

const plugin = loadPlugin(new URL('../dist/plugin.cjs', import.meta.url))

test('counts words that are long enough', async () => {
  const kernel = await testPlugin(plugin, { settings: { min_length: 3 } })
  const result = await kernel.callById('words.count', { text: 'to be or not to be sure' })
  assert.deepEqual([result.words, result.longest], [2, 'sure'])
  await kernel.close()
})

test('says so when nothing counts', async () => {
  const kernel = await testPlugin(plugin)
  await assert.rejects(kernel.callById('words.count', { text: ' \n ' }), { code: 'WORDS_NONE', status: 422 })
  await kernel.close()
})

test('leaves nothing behind', async () => {
  await assertNoLeaks(async () => {
    const kernel = await testPlugin(plugin)
    await kernel.close()
  })
})
