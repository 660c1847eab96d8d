import assert from 'node:assert/strict'
import test from 'node:test'
import { assertNoLeaks, loadPlugin, testPlugin } from '@svc/plugin-sdk/testing'

const plugin = loadPlugin(new URL('../dist/plugin.cjs', import.meta.url))

test('counts only words of min_length or more characters', async () => {
  const kernel = await testPlugin(plugin, { settings: { min_length: 3 } })
  const result = await kernel.callById('words.count', { text: 'to be or not to be sure' })
  assert.deepEqual([result.words, result.longest], [2, 'sure'])
  await kernel.close()
})

test('throws WORDS_NONE for a text without words', async () => {
  const kernel = await testPlugin(plugin)
  await assert.rejects(kernel.callById('words.count', { text: ' \n ' }), { code: 'WORDS_NONE', status: 422 })
  await kernel.close()
})

test('releases all resources when the kernel closes', async () => {
  await assertNoLeaks(async () => {
    const kernel = await testPlugin(plugin)
    await kernel.close()
  })
})
