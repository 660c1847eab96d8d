import { type Transcripts, transcripts } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { sessionList, sessionMessages, sessionSearch } from '#operations'
import sessions from '#plugin'

interface Teardown {
  teardown(run: () => unknown): unknown
}

async function opened(t: Teardown) {
  let chatLog: Transcripts | undefined
  const user = definePlugin({
    name: 'user',
    requires: { chatLog: transcripts },
    activate(_ctx, deps) {
      chatLog = deps.chatLog
    }
  })
  const kernel = await testKernel([sessions, user])
  t.teardown(() => kernel.close())
  return { kernel, chatLog: chatLog as Transcripts }
}

t.test('messages of a session have times in milliseconds, and are found in order', async t => {
  const { kernel, chatLog } = await opened(t)
  await chatLog.append({ session_id: 'talk', role: 'user', content: 'Which port?' })
  await chatLog.append({
    session_id: 'talk',
    role: 'assistant',
    content: '8080',
    model_used: 'small',
    tokens: 3,
    context_files: ['svc.toml', 'README.md']
  })
  const { messages, earlier } = await kernel.call(sessionMessages, { session_id: 'talk' })
  t.equal(earlier, 0)
  t.match(messages, [
    { role: 'user', content: 'Which port?' },
    { role: 'assistant', content: '8080', model: 'small', tokens: 3, files: 'svc.toml, README.md' }
  ])
  t.ok((messages[0]?.timestamp_ms ?? 0) > 1_600_000_000_000)
  await t.rejects(kernel.call(sessionMessages, { session_id: 'none' }), { code: 'SES_SESSION_UNKNOWN' })
})

t.test('long and many messages are cut to one frame of the stream, newest kept', async t => {
  const { kernel, chatLog } = await opened(t)
  for (let each = 1; each <= 60; each += 1)
    await chatLog.append({ session_id: 'long', role: 'user', content: `${each} ${'é'.repeat(20_000)}` })
  const output = await kernel.call(sessionMessages, { session_id: 'long' })
  t.ok(Buffer.byteLength(JSON.stringify(output)) < 256 * 1_024)
  t.match(output.messages.at(-1)?.content, /^60 é/)
  t.equal(output.messages.at(-1)?.content.length, 8_000)
  t.equal(output.messages.length + output.earlier, 60)
  t.ok(output.messages.length >= 9)
})

t.test('sessions are found by a part of their name in any case', async t => {
  const { kernel, chatLog } = await opened(t)
  await chatLog.append({ session_id: 'Release/notes', role: 'user', content: 'Hi' })
  await chatLog.append({ session_id: 'other', role: 'user', content: 'Hi' })
  t.same(await kernel.call(sessionSearch, { text: 'release' }), {
    results: [{ title: 'Release/notes', kind: 'session', link: '/ui/p/sessions/sessions/Release%2Fnotes' }]
  })
  t.equal((await kernel.call(sessionList, {})).count, 2)
})
