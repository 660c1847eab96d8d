import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { diffOf, inlineEdit, replaced, replacementOf, select } from '#edit'
import { openAssistant, streamReply } from './open-assistant.ts'

t.test('lists the files that models wrote, with the hashes of their old and new texts', async t => {
  const { kernel } = await openAssistant(t, { answers: ['```\ntwo\n```', 'fn main() {\n}\n'] })
  writeFileSync(join(kernel.root, 'a.txt'), 'one\n')
  const list = (input = {}) => kernel.callById('assistant.oplog', input) as Promise<{ entries: Record<string, any>[] }>
  t.same((await list()).entries, [])
  await kernel.call(inlineEdit, { path: 'a.txt', instruction: 'Count on' })
  t.same((await list()).entries, [], 'a diff is no change')
  await kernel.call(inlineEdit, { path: 'a.txt', instruction: 'Count on', apply: true })
  await kernel.callById('assistant.generate', { prompt: 'Nothing', output_path: 'b.vox' })
  const [second, first] = (await list()).entries
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
  t.match(second, { kind: 'file_write', description: 'b.vox: Nothing', predecessor_hash: null, model_id: 'toy' })
  t.match(first, {
    kind: 'file_edit',
    agent_id: 'assistant',
    description: 'a.txt: Count on',
    predecessor_hash: sha256('one\n'),
    change_id: sha256(readFileSync(join(kernel.root, 'a.txt'), 'utf8')),
    undone: false
  })
  t.match((await list({ before: second?.id, limit: 1 })).entries, [{ id: first?.id }])
  t.same((await list({ agent_id: 7 })).entries, [])
})

t.test('without a database, the list of written files is an error', async t => {
  const { kernel } = await openAssistant(t, { database: false })
  await t.rejects(kernel.callById('assistant.oplog', {}), { code: 'ASI_NO_DATABASE' })
})

const FILE = 'one\n  two\n  three\nfour'

t.test('returns the diff of an edit, and writes only if asked', async t => {
  const answers = ['Sure:\n```\n  TWO\n  2.5\n```\n']
  const { kernel, requestMessages: asked } = await openAssistant(t, { database: false, answers })
  const file = join(kernel.root, 'run.sh')
  writeFileSync(file, FILE)
  chmodSync(file, 0o755)
  const input = { path: 'run.sh', instruction: 'In capitals', start_line: 2, end_line: 2 }
  const shown = await kernel.call(inlineEdit, input)
  t.match(shown, {
    path: 'run.sh',
    start_line: 2,
    end_line: 2,
    replacement: '  TWO\n  2.5\n',
    diff: '--- a/run.sh\n+++ b/run.sh\n@@ -2,1 +2,2 @@\n-  two\n+  TWO\n+  2.5\n',
    applied: false,
    model_used: 'toy',
    tokens: 16
  })
  t.equal(readFileSync(file, 'utf8'), FILE)
  const [, question] = asked()[0] ?? []
  t.match(question?.content, /In capitals[\s\S]*above the selection:\none[\s\S]*Selected lines:\n {2}two/)
  t.match(await kernel.call(inlineEdit, { ...input, apply: true }), { applied: true })
  t.equal(readFileSync(file, 'utf8'), 'one\n  TWO\n  2.5\n  three\nfour')
  t.equal(statSync(file).mode & 0o777, 0o755)
})

t.test('refuses ranges, paths, secrets and files that another agent locked', async t => {
  const { kernel, orchestrator, server } = await openAssistant(t, { database: false })
  mkdirSync(join(kernel.root, 'sub'))
  writeFileSync(join(kernel.root, 'a.txt'), FILE)
  writeFileSync(join(kernel.root, '.env'), 'A=1')
  writeFileSync(join(kernel.root, 'long.txt'), 'x'.repeat(262_145))
  symlinkSync('/etc/hostname', join(kernel.root, 'link'))
  const edit = (more: object) => kernel.call(inlineEdit, { path: 'a.txt', instruction: 'x', ...more })
  for (const range of [{ start_line: 5 }, { end_line: 9 }, { start_line: 3, end_line: 2 }])
    await t.rejects(edit(range), { code: 'ASI_EDIT_RANGE' })
  for (const path of ['.env', 'sub', 'none.txt', '../x', 'link', 'long.txt'])
    await t.rejects(edit({ path }), { code: 'ASI_PATH_REFUSED' }, path)
  const agent = await orchestrator.spawnAgent({ name: 'writer' })
  await orchestrator.submit({ description: 'Write', files: [{ path: 'a.txt', access: 'write' }], agent_name: 'writer' })
  t.equal(server.seen.filter(({ path }) => path === '/api/chat').length, 0, 'no request was sent')
  const holders = orchestrator.locks('a.txt').flatMap(lock => lock.holders)
  if (holders.length > 0) {
    await t.rejects(edit({ apply: true }), { code: 'ASI_PATH_REFUSED', message: /locked/ })
    t.match(await edit({ apply: true, agent_id: agent.id }), { applied: true })
  }
})

t.test('writes nothing if the file changed meanwhile, or if the answer was cut off', async t => {
  let root = ''
  const { kernel } = await openAssistant(t, {
    database: false,
    server: {
      chat(body, response) {
        writeFileSync(join(root, 'a.txt'), 'changed by another\n')
        streamReply(body, response, '```\nmine\n```')
      }
    }
  })
  root = kernel.root
  writeFileSync(join(root, 'a.txt'), FILE)
  await t.rejects(kernel.call(inlineEdit, { path: 'a.txt', instruction: 'x', apply: true }), {
    code: 'ASI_FILE_CHANGED'
  })
  t.equal(readFileSync(join(root, 'a.txt'), 'utf8'), 'changed by another\n')

  const cut = await openAssistant(t, {
    database: false,
    server: {
      chat(body, response) {
        const row = (value: object) => void response.write(`${JSON.stringify({ model: body.model, ...value })}\n`)
        row({ message: { role: 'assistant', content: '```\nhalf' }, done: false })
        row({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'length', eval_count: 1 })
        response.end()
      }
    }
  })
  writeFileSync(join(cut.kernel.root, 'a.txt'), FILE)
  await t.rejects(cut.kernel.call(inlineEdit, { path: 'a.txt', instruction: 'x', apply: true }), {
    code: 'ASI_EDIT_INCOMPLETE'
  })
  t.equal(readFileSync(join(cut.kernel.root, 'a.txt'), 'utf8'), FILE)
})

t.test('takes the longest block of an answer, with its indentation', t => {
  t.equal(replacementOf('```\n  a\n```'), '  a\n')
  t.equal(replacementOf('```js\na\n```\ntext\n````\n```\nb\n```\n````\n'), '```\nb\n```\n')
  t.equal(replacementOf('plain'), 'plain\n')
  t.equal(replacementOf('```\n```'), '')
  t.end()
})

t.test('git applies the diff of any edit, with the same result', t => {
  const folder = t.testdir({})
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 })
  fc.assert(
    fc.property(text, text, fc.nat(12), fc.nat(12), (old, answer, one, other) => {
      const selection = select(old, Math.min(one, other) + 1, Math.max(one, other) + 1)
      if (selection === null) return
      const now = replaced(selection, replacementOf(answer))
      const diff = diffOf('f.txt', old, now)
      if (diff === '') return
      writeFileSync(join(folder, 'f.txt'), old)
      execFileSync('git', ['apply', '--unidiff-zero', '-'], { cwd: folder, input: diff, stdio: 'pipe' })
      t.equal(readFileSync(join(folder, 'f.txt'), 'utf8'), now)
    }),
    { numRuns: 40 }
  )
  t.end()
})
