import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { generateCode } from '#generate'
import { refuse } from '../../inference-client/test/fake-server.ts'
import { openAssistant, streamReply } from './open-assistant.ts'

const RIGHT = 'fn double(n: int) to int {\n    n * 2\n}\n'
const WRONG = 'fn double(n: int) to int {\n    n * nothing_of_that_name\n}\n'

t.test('returns a program that compiles', async t => {
  const { kernel, transcripts, store } = await openAssistant(t, {
    answers: [`Here you are:\n\`\`\`vox\n${RIGHT}\`\`\`\n`]
  })
  const made = await kernel.call(generateCode, { prompt: 'Double a number', session_id: 's', journey_id: 'j' })
  t.match(made, { code: RIGHT, valid: true, attempts: 1, model_used: 'toy', tokens: 16, journey_id: 'j' })
  t.notOk('file_outcomes' in made.meta)
  t.match(made.meta.grammar_mask, { requested: false, applied: false })
  const [asked, answered] = await transcripts.history('s')
  t.match([asked?.content, answered?.content], ['Double a number', `\`\`\`vox\n${RIGHT}\`\`\`\n`])
  const { rows = [] } = (await store?.query('SELECT surface, journey_id FROM routing_decisions')) ?? {}
  t.same(rows, [['svc_generate_code', 'j']])
})

t.test('sends diagnostics to the model, and returns the repaired program', async t => {
  const { kernel, requestMessages: asked } = await openAssistant(t, { database: false, answers: [WRONG, RIGHT] })
  const events: { type: string }[] = []
  const made = await kernel.call(
    generateCode,
    { prompt: 'Double a number', output_surface_mode: 'fenced_transport' },
    { onEvent: event => events.push(event as { type: string }) }
  )
  t.match(made, { code: `\`\`\`vox\n${RIGHT}\`\`\`\n`, valid: true, attempts: 2, tokens: 32 })
  const [, , wrong, repair] = asked()[1] ?? []
  t.equal(wrong?.content, WRONG)
  t.match(repair?.content, /refuses that program[\s\S]*nothing_of_that_name/)
  t.same([...new Set(events.map(({ type }) => type))], ['attempt', 'text', 'diagnostics'])
})

t.test('if no program compiles, the error has the last one with its diagnostics, and no file is written', async t => {
  const { kernel, requestMessages: asked } = await openAssistant(t, { database: false, answers: [WRONG] })
  const input = { prompt: 'x', max_retries: 1, output_path: 'a.vox' }
  const error = await kernel.call(generateCode, input).then(
    () => t.fail('the call succeeded'),
    (failure: unknown) => failure
  )
  t.match(error, { code: 'ASI_CODE_INVALID', data: { attempts: 2, code: WRONG, model_used: 'toy' } })
  const { diagnostics } = (error as { data: { diagnostics: object[] } }).data
  t.match(JSON.stringify(diagnostics), /nothing_of_that_name/)
  t.equal(asked().length, 2)
  t.notOk(existsSync(join(kernel.root, 'a.vox')))
})

t.test('without validation the first answer is returned, and not reported as valid', async t => {
  const { kernel, requestMessages: asked } = await openAssistant(t, { database: false, answers: [WRONG] })
  t.match(await kernel.call(generateCode, { prompt: 'x', validate: false }), { code: WRONG, valid: null, attempts: 1 })
  t.equal(asked().length, 1)
})

t.test('writes the file atomically, and creates missing folders', async t => {
  const { kernel, orchestrator } = await openAssistant(t, { database: false, answers: [RIGHT] })
  const { id } = await orchestrator.spawnAgent({ name: 'writer' })
  const input = { prompt: 'x', output_path: 'src/deep/double.vox', vcs_agent_id: id }
  const { meta } = await kernel.call(generateCode, { ...input, output_surface_mode: 'fenced_transport' })
  t.same(meta.file_outcomes, {
    schema: 'svc_generate_code_file_outcomes_v1',
    schema_version: 1,
    written_paths: ['src/deep/double.vox'],
    bytes_written: Buffer.byteLength(RIGHT),
    artifact_kind: 'svc_generated'
  })
  t.equal(readFileSync(join(kernel.root, 'src/deep/double.vox'), 'utf8'), RIGHT)
  t.same(readdirSync(join(kernel.root, 'src/deep')), ['double.vox'])
  t.equal(orchestrator.fileOwner('src/deep/double.vox'), id)
})

t.test('rejects paths outside the project before any request to the model', async t => {
  const { kernel, requestMessages: asked } = await openAssistant(t, { database: false, answers: [RIGHT] })
  const outside = t.testdir({ 'there.vox': 'theirs' })
  symlinkSync(outside, join(kernel.root, 'out'))
  mkdirSync(join(kernel.root, 'folder.vox'))
  for (const output_path of [
    '../a.vox',
    '/tmp/a.vox',
    'out/a.vox',
    'out/new/a.vox',
    'folder.vox',
    '.vox/a.vox',
    '.git/hooks/a.vox',
    'a.sh',
    'a.vox\0.txt',
    '.'
  ])
    await t.rejects(kernel.call(generateCode, { prompt: 'x', output_path }), { code: 'ASI_PATH_REFUSED' }, output_path)
  await t.rejects(kernel.call(generateCode, { prompt: 'x', vcs_agent_id: 99 }), { code: 'ORC_AGENT_NOT_FOUND' })
  t.same(asked(), [])
  t.same(readdirSync(outside), ['there.vox'])
})

t.test('a symbolic link at the output path is replaced, not followed', async t => {
  const { kernel } = await openAssistant(t, { database: false, answers: [RIGHT] })
  const outside = t.testdir({ 'there.vox': 'theirs' })
  symlinkSync(join(outside, 'there.vox'), join(kernel.root, 'a.vox'))
  await kernel.call(generateCode, { prompt: 'x', output_path: 'a.vox' })
  t.equal(readFileSync(join(outside, 'there.vox'), 'utf8'), 'theirs')
  t.equal(readFileSync(join(kernel.root, 'a.vox'), 'utf8'), RIGHT)
})

t.test('does not write a file that an agent has locked', async t => {
  const { kernel, orchestrator } = await openAssistant(t, { database: false, answers: [RIGHT] })
  writeFileSync(join(kernel.root, 'a.vox'), 'old')
  const { agent_id } = await orchestrator.submit({
    description: 'Edit it',
    files: [{ path: 'a.vox', access: 'write' }]
  })
  await orchestrator.next(agent_id)
  t.ok(orchestrator.locks().length > 0)
  await t.rejects(kernel.call(generateCode, { prompt: 'x', output_path: 'a.vox' }), {
    code: 'ASI_PATH_REFUSED',
    message: /is locked by/
  })
  t.equal(readFileSync(join(kernel.root, 'a.vox'), 'utf8'), 'old')
})

t.test('requests the grammar if enabled, and reports whether it was applied', async t => {
  const settings = { grammar_mask: true }
  const kept = await openAssistant(t, { database: false, settings, answers: [RIGHT] })
  const made = await kept.kernel.call(generateCode, { prompt: 'x' })
  t.same(made.meta.grammar_mask, { requested: true, applied: true, reason: null })
  t.match(kept.server.seen.at(-1)?.body, { format: { type: 'grammar', grammar: { name: 'vox' } } })

  const ignored = await openAssistant(t, { database: false, settings, answers: [`Sure!\n\`\`\`vox\n${RIGHT}\`\`\``] })
  t.match((await ignored.kernel.call(generateCode, { prompt: 'x' })).meta.grammar_mask, {
    applied: false,
    reason: /does not apply it/
  })

  const refusing = await openAssistant(t, {
    database: false,
    settings,
    server: {
      chat: (body, response) =>
        body.format === undefined
          ? streamReply(body, response, RIGHT)
          : refuse(response, 400, 'grammars are not supported')
    }
  })
  const { valid, meta } = await refusing.kernel.call(generateCode, { prompt: 'x' })
  t.equal(valid, true)
  t.match(meta.grammar_mask, {
    requested: true,
    applied: false,
    reason: /does not support grammars.*grammars are not supported/
  })
})

t.test('an OpenAI server receives the grammar as response_format', async t => {
  const { kernel, server } = await openAssistant(t, {
    database: false,
    settings: { grammar_mask: true },
    server: {
      api: 'openai',
      chat: (body, response) => {
        const event = (value: object) =>
          void response.write(`data: ${JSON.stringify({ model: body.model, ...value })}\n\n`)
        event({ choices: [{ index: 0, delta: { content: RIGHT }, finish_reason: 'stop' }] })
        response.end('data: [DONE]\n\n')
      }
    }
  })
  const { meta } = await kernel.call(generateCode, { prompt: 'x' })
  t.equal(meta.grammar_mask.applied, true)
  t.match(server.seen.at(-1)?.body, { response_format: { type: 'grammar', grammar: { name: 'vox' } } })
})

t.test('a call that is cancelled ends the repairs', async t => {
  let begun: () => void = () => {}
  const talking = new Promise<void>(resolve => {
    begun = resolve
  })
  const { kernel, server, transcripts } = await openAssistant(t, {
    database: false,
    server: {
      chat: (_body, response) => {
        response.flushHeaders()
        begun()
      }
    }
  })
  const controller = new AbortController()
  const call = kernel.call(generateCode, { prompt: 'x', session_id: 's' }, { signal: controller.signal })
  await talking
  controller.abort()
  await t.rejects(call, { code: 'OPR_CANCELLED' })
  while (server.left === 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.same(await transcripts.history('s'), [])
})
