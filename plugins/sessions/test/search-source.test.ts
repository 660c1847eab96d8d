import { type SearchSource, searchSources, type Transcripts, transcripts } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import sessions from '#plugin'

t.test('transcripts are documents of the search, with a new version after each message', async t => {
  let found: readonly SearchSource[] = []
  let chats: Transcripts | undefined
  const index = definePlugin({
    name: 'index',
    points: [searchSources],
    requires: { chats: transcripts },
    activate(ctx, deps) {
      chats = deps.chats
      ctx.follow(searchSources, items => {
        found = items
      })
    }
  })
  const kernel = await testKernel([sessions, index] as Plugin[])
  t.teardown(() => kernel.close())
  const [source] = found as [SearchSource]
  const { signal } = new AbortController()
  let changes = 0
  const end = source.watch?.(() => {
    changes += 1
  })
  t.same(await source.list(signal), [])
  await chats?.append({ session_id: 's1', role: 'user', content: 'Where are\nretries delayed?' })
  const [first] = await source.list(signal)
  t.equal(first?.key, 's1')
  await chats?.append({ session_id: 's1', role: 'assistant', content: 'In backoff.ts.' })
  const [second] = await source.list(signal)
  t.not(second?.version, first?.version)
  t.same(await source.read('s1', signal), {
    title: 'Where are retries delayed?',
    text: 'user: Where are\nretries delayed?\n\nassistant: In backoff.ts.'
  })
  t.ok(changes >= 2, `${changes} changes`)
  end?.()
  const before = changes
  await chats?.append({ session_id: 's1', role: 'user', content: 'x'.repeat(600_000) })
  t.equal(changes, before, 'an ended watch hears nothing')
  const long = await source.read('s1', signal)
  t.match(long?.text, /^user: x{499994}$/, 'of a long session, the last messages')
  await chats?.append({ session_id: 's1', role: 'user', content: '語'.repeat(400_000) })
  const bytes = Buffer.byteLength((await source.read('s1', signal))?.text ?? '')
  t.ok(bytes > 499_990 && bytes <= 500_000, `${bytes} bytes, which is less than the index reads`)
  await chats?.reset('s1')
  t.same(await source.list(signal), [])
  t.equal(await source.read('s1', signal), null)
})
