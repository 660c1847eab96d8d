import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rowsByName, taskSubmitting } from '@svc/contracts'
import t from 'tap'
import { chunks, QuestionStore, questioningAnswer, questioningList, questioningPending, questioningSync } from '#root'
import { candidate, choice } from './candidate.ts'
import { openWorld } from './open-world.ts'

type World = Awaited<ReturnType<typeof openWorld>>

const rows = async ({ store }: World, sql: string) => rowsByName(await store.query(sql))
const submission = (session_id?: string) => ({
  surface: 'svc_submit_task',
  request: { description: 'work', files: [], ...(session_id === undefined ? {} : { session_id }) },
  principal: { id: 'local', role: 'admin', scopes: ['*'] }
})

t.test('a question stays pending until an answer selects an option, which updates the belief state', async t => {
  const world = await openWorld(t)
  const { kernel, service, fake } = world
  t.same(await kernel.call(questioningPending, { session_id: 's' }), { open: false, pending: [] })
  const outcome = await service.consider(choice())
  t.match(outcome, { asked: true, question_id: /^svc_plan:s:\d+$/, utility_bits_per_cost: 2, stop_reason: null })
  t.ok(await service.hasPending('s'))
  t.match(await kernel.call(questioningPending, { session_id: 's' }), {
    open: true,
    question_session_id: 1,
    pending: [
      {
        question_id: outcome.question_id,
        question_kind: 'multiple_choice',
        prompt: 'which database?',
        expected_information_gain_bits: 0.5,
        options: [
          { option_id: 'a', label: 'SQLite', prior_probability: 0.6, posterior_probability: null, is_other: false },
          { option_id: 'b', is_other: false },
          { option_id: 'c', is_other: true }
        ]
      }
    ]
  })
  t.match(await kernel.call(questioningList, {}), {
    questions: [{ session: 's', question: 'which database?', options: 'a, b, c', id: outcome.question_id }]
  })
  const answered = await kernel.call(questioningAnswer, {
    session_id: 's',
    answer_text: 'Postgres, please',
    selected_option_id: 'b',
    information_contribution_bits: 3
  })
  t.match(answered, { question_session_id: 1, answered_at_ms: Number, still_pending_clarification: false })
  const after = await kernel.call(questioningPending, { session_id: 's' })
  t.match(after, { open: true, pending: [] })
  // 0.6, 0.8 and 0.2, divided by their sum.
  const belief = JSON.parse(after.belief_state_json ?? '{}')
  t.match(belief, {
    answers: [{ question_id: outcome.question_id, answer_text: 'Postgres, please', selected_option_id: 'b' }],
    last_updated_ms: answered.answered_at_ms
  })
  t.equal(belief.hypothesis_mass.by_question[outcome.question_id ?? ''].b.toFixed(6), '0.500000')
  t.match(await rows(world, 'SELECT * FROM question_option_outcomes'), [
    { option_id: 'b', selected: 1, information_contribution_bits: 3, diagnostic_weight: Math.log2(0.5 / 0.2) }
  ])
  t.match(await rows(world, 'SELECT round(sum(posterior_probability), 9) AS mass FROM question_options'), [{ mass: 1 }])
  t.same(
    fake.debits.map(({ kind, milliseconds, frequency }) => [kind, milliseconds, frequency]),
    [
      ['ClarificationAsked', 10, true],
      ['ClarificationAnswered', 0, false]
    ]
  )
})

t.test('an answer that names an option selects it, and other text is stored unchanged', async t => {
  const { kernel, service } = await openWorld(t)
  await service.consider(choice())
  await kernel.call(questioningAnswer, { session_id: 's', answer_text: ' sqlite ' })
  await service.consider(choice({ prompt: 'and for tests?' }))
  await kernel.call(questioningAnswer, { session_id: 's', answer_text: 'none of those' })
  const { belief_state_json } = await kernel.call(questioningPending, { session_id: 's' })
  const { answers } = JSON.parse(belief_state_json ?? '{}')
  t.equal(answers[0].selected_option_id, 'a')
  t.notOk('selected_option_id' in answers[1])
})

t.test('rejects answers that fit no question, and stores nothing', async t => {
  const { kernel, service } = await openWorld(t)
  const answer = (change: object) =>
    kernel.call(questioningAnswer, { session_id: 's', answer_text: 'yes', ...change } as never)
  await t.rejects(answer({}), {
    code: 'QST_SESSION_NONE',
    message: 'No open clarification session for this session_id.'
  })
  const { question_id } = await service.consider(choice())
  await t.rejects(answer({ question_id: 'other' }), { code: 'QST_QUESTION_UNKNOWN' })
  await t.rejects(answer({ selected_option_id: 'z' }), { code: 'QST_OPTION_UNKNOWN', hint: 'select one of a, b, c' })
  t.ok(await service.hasPending('s'), 'the rejected answers were rolled back')
  await answer({ question_id })
  await t.rejects(answer({ question_id }), { code: 'QST_ANSWERED' })
  await t.rejects(answer({}), { code: 'QST_NOTHING_PENDING' })
})

t.test('asks at most three questions per clarification session, and a repeated one only once', async t => {
  const world = await openWorld(t)
  const { service, kernel } = world
  const first = await service.consider(candidate())
  t.equal((await service.consider(candidate())).question_id, first.question_id)
  await service.consider(candidate({ prompt: 'which host?' }))
  await service.consider(candidate({ prompt: 'which user?' }))
  t.match(await service.consider(candidate({ prompt: 'which day?' })), {
    asked: false,
    question_id: null,
    stop_reason: 'max_clarification_turns'
  })
  t.same(
    (await rows(world, 'SELECT turn_index FROM question_events ORDER BY id')).map(({ turn_index }) => turn_index),
    [0, 1, 2]
  )
  t.match(await rows(world, 'SELECT * FROM question_stop_events'), [
    { stop_reason: 'max_clarification_turns', confidence_at_stop: 0.4, turn_index: 3 }
  ])
  const newest = await kernel.call(questioningAnswer, { session_id: 's', answer_text: 'root' })
  t.ok(newest.still_pending_clarification)
  const { belief_state_json } = await kernel.call(questioningPending, { session_id: 's' })
  t.match(JSON.parse(belief_state_json ?? '{}').answers, [{ answer_text: 'root' }])
})

t.test('concurrent questions of two stores get consecutive turns of one clarification session', async t => {
  const world = await openWorld(t)
  const stores = [new QuestionStore(world.store, 'r'), new QuestionStore(world.store, 'r')]
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, at) => stores[at % 2]?.ask(candidate({ prompt: `question ${at}` })))
  )
  t.equal(ids.filter(id => id !== null).length, 3)
  t.equal(new Set(ids).size, 4, 'three ids, and null for the other questions')
  t.same(
    await rows(world, 'SELECT question_session_id AS s, turn_index AS t FROM question_events ORDER BY id'),
    [0, 1, 2].map(t => ({ s: 1, t }))
  )
})

t.test('rejects the second of two answers to one question', async t => {
  const { kernel, service } = await openWorld(t)
  const { question_id } = await service.consider(candidate())
  const answer = { session_id: 's', answer_text: 'yes', question_id: question_id ?? '' }
  const ends = await Promise.allSettled([1, 2].map(() => kernel.call(questioningAnswer, answer)))
  t.same(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

t.test('the interruption policy decides last, and receives the state of the clarification session', async t => {
  const { service, fake } = await openWorld(t)
  for (const outcome of ['ProceedAutonomously', 'DeferUntilCheckpoint', 'BatchWithExisting'] as const) {
    fake.outcome = outcome
    t.match(await service.consider(candidate()), { asked: false, stop_reason: 'policy_deferred' })
  }
  t.notOk(await service.hasPending('s'))
  fake.outcome = 'RequireHuman'
  t.ok((await service.consider(candidate({ high_risk: true, contradiction_ratio: 0.5 }))).asked)
  await service.consider(candidate({ prompt: 'another?' }))
  t.match(fake.decisions.at(-2), { channel: 'plan', surface: 'svc_plan', open_session: false, backlog: 0, turn: 0 })
  t.match(fake.decisions.at(-1), { open_session: true, backlog: 1, turn: 1, max_turns: 3, gain_bits: 0.5 })
})

t.test('time is charged to the session and the global budget, until the session has used its limit', async t => {
  const { service, fake } = await openWorld(t, { max_attention_ms: 1_000 })
  await service.debit('s', 600)
  await service.debit('s', Number.NaN)
  await service.debit('s', -5)
  t.equal((await service.consider(candidate())).asked, true)
  await service.debit('s', 400)
  t.equal((await service.consider(candidate({ prompt: 'more?' }))).stop_reason, 'attention_budget_exceeded')
  t.ok((await service.consider(candidate({ session_id: 'other' }))).asked, 'other sessions have their own limit')
  t.same(
    fake.debits.filter(({ frequency }) => !frequency),
    [600, 400].map(milliseconds => ({ milliseconds, kind: 'ClarificationAsked', frequency: false }))
  )
})

t.test('time is charged only to the session if mirror_global_attention is off', async t => {
  const { service, fake } = await openWorld(t, { mirror_global_attention: false, max_attention_ms: 1 })
  await service.debit('s', 5)
  t.same(fake.debits, [])
  t.equal((await service.consider(candidate())).stop_reason, 'attention_budget_exceeded')
})

t.test(
  'rejects tasks of a session until its question is answered; the next task ends the clarification session',
  async t => {
    const world = await openWorld(t)
    const { kernel, service, fake } = world
    const submit = (session?: string) => kernel.trigger(taskSubmitting, submission(session))
    await submit('s')
    const { question_id } = await service.consider(candidate())
    await t.rejects(submit('s'), {
      code: 'QST_ANSWER_FIRST',
      status: 409,
      message: `session s: answer its question first: "which port?" (${question_id})`,
      hint: /svc questions answer/
    })
    await submit('other')
    await submit()
    await kernel.call(questioningAnswer, { session_id: 's', answer_text: '80' })
    await submit('s')
    fake.notify({ type: 'task_submitted', task_id: 1, agent_id: 1, description: 'work', session_id: 's' })
    for (;;) {
      const { open } = await kernel.call(questioningPending, { session_id: 's' })
      if (!open) break
    }
    t.match(await rows(world, 'SELECT * FROM question_sessions'), [
      { resolution_status: 'resolved', ended_at_ms: Number }
    ])
    await service.consider(candidate())
    t.match(await rows(world, 'SELECT max(turn_index) AS t FROM question_events WHERE question_session_id = 2'), [
      { t: 0 }
    ])
  }
)

t.test('the gate accepts every task if it is disabled or no database is attached', async t => {
  const bypassed = await openWorld(t, { bypass_submit_gate: true })
  await bypassed.service.consider(candidate())
  await bypassed.kernel.trigger(taskSubmitting, submission('s'))
  const without = await openWorld(t, {}, { database: false })
  await without.kernel.trigger(taskSubmitting, submission('s'))
  t.match(await without.service.consider(candidate()), { asked: false, stop_reason: 'no_database' })
  t.notOk(await without.service.hasPending('s'))
  await t.rejects(without.kernel.call(questioningPending, { session_id: 's' }), {
    code: 'ORC_NO_DATABASE',
    message: 'Database not attached.'
  })
})

t.test('the gate accepts a task with a warning if the database fails', async t => {
  const { kernel, store } = await openWorld(t)
  await store.migrate('DROP TABLE question_events')
  await kernel.trigger(taskSubmitting, submission('s'))
  t.ok(kernel.log.some(({ level, message }) => level === 'warn' && message.includes('the task is accepted')))
})

t.test('sufficient confidence ends a clarification session without pending questions', async t => {
  const world = await openWorld(t)
  await world.service.consider(candidate())
  await world.service.consider(candidate({ confidence: 0.9 }))
  t.ok(await world.service.hasPending('s'), 'it does not end while a question is pending')
  await world.kernel.call(questioningAnswer, { session_id: 's', answer_text: '80' })
  await world.service.consider(candidate({ confidence: 0.9 }))
  t.match(await world.kernel.call(questioningPending, { session_id: 's' }), { open: false })
})

t.test('indexes the policy document with its hash, and under the same id when synced again', async t => {
  const world = await openWorld(t)
  const { kernel } = world
  const text = '# How we ask\n\nOnly what is worth it.\n\n## When\n\nBefore a task.\n'
  await t.rejects(kernel.call(questioningSync, {}), { code: 'QST_DOCUMENT_UNREADABLE' })
  mkdirSync(join(kernel.root, 'docs'))
  writeFileSync(join(kernel.root, 'docs', 'questioning.md'), text)
  const synced = await kernel.call(questioningSync, {})
  t.same(synced, {
    relative_path: 'docs/questioning.md',
    content_sha3_256: createHash('sha3-256').update(text).digest('hex'),
    search_document_id: 1
  })
  writeFileSync(join(kernel.root, 'docs', 'questioning.md'), '# Shorter\n')
  const again = await kernel.call(questioningSync, { relative_path: './docs/questioning.md' })
  t.match(again, { search_document_id: 1, relative_path: 'docs/questioning.md' })
  t.not(again.content_sha3_256, synced.content_sha3_256)
  t.match(await rows(world, 'SELECT * FROM search_documents'), [{ title: 'Shorter', mime_type: 'text/markdown' }])
  t.match(await rows(world, 'SELECT * FROM search_document_chunks'), [{ chunk_index: 0, body_text: '# Shorter' }])
  t.same(chunks(text), ['# How we ask\n\nOnly what is worth it.', '## When\n\nBefore a task.'])
})

t.test('a heading with many spaces is parsed in linear time', async t => {
  const world = await openWorld(t)
  const { root } = world.kernel
  // A backtracking expression that tries each space as the end would take minutes.
  writeFileSync(join(root, 'blanks.md'), `#  Far${' '.repeat(300_000)}apart  \n`)
  await world.kernel.call(questioningSync, { relative_path: 'blanks.md' })
  t.match(await rows(world, 'SELECT title FROM search_documents'), [{ title: /^Far +apart$/ }])
})

t.test('rejects documents outside the project, even through a symbolic link', async t => {
  const { kernel } = await openWorld(t)
  symlinkSync('/etc', join(kernel.root, 'link'))
  for (const relative_path of ['../x.md', '/etc/hosts', 'link/hosts', '.'])
    await t.rejects(kernel.call(questioningSync, { relative_path }), { code: 'QST_PATH_REFUSED' })
  mkdirSync(join(kernel.root, 'folder'))
  writeFileSync(join(kernel.root, 'binary'), Buffer.from([1, 0, 2]))
  for (const relative_path of ['folder', 'binary'])
    await t.rejects(kernel.call(questioningSync, { relative_path }), { code: 'QST_DOCUMENT_UNREADABLE' })
})
