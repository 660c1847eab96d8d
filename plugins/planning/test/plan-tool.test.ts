import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type InferenceClient, inferenceClient, type QuestionCandidate, questioning } from '@svc/contracts'
import { fake as fakeService } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { plan, planExecute, planList, planNew, planReplan, planResume, planStatus } from '#operations'
import { openPlanning, openWithoutDatabase } from './open-planning.ts'

const GOAL = 'Add the login page to src/login.ts; write a test for the login page; update the guide of the login page'
const THIN = 'Adapt the login page across its languages'
const REPLY = JSON.stringify({
  summary: 'Two steps',
  tasks: [
    { id: 1, description: 'Add the page', files: ['src/page.ts'], estimated_complexity: 3, depends_on: [] },
    { id: 2, description: 'Test the page', files: ['test/page.ts'], estimated_complexity: 2, depends_on: [1] }
  ]
})

t.test('svc_plan drafts a goal by its text, scores the plan and stores it', async t => {
  const { kernel } = await openPlanning()
  const result = await kernel.call(plan, { goal: GOAL, session_id: 'chat' })
  t.match(result, {
    goal: GOAL,
    plan_total_tasks: 3,
    plan_page_offset: 0,
    loop_mode_effective: 'off',
    refinement_rounds: 0,
    loop_stop_reason: 'ready',
    last_aggregate_gap_risk: 0,
    plan_adequacy_score: 0.8875,
    plan_too_thin: false,
    adequacy_reason_codes: ['too_few_tasks'],
    plan_depth_effective: 'standard',
    clarifying_questions: [],
    plan_source: 'splitter',
    written_to_disk: false,
    plan_session_id: /^plan-/,
    qgate: {
      risk_decision: 'Answer',
      confidence_estimate: 0.8875,
      questioning: { question_needed: false, prompt: null }
    }
  })
  t.same(
    result.tasks.map(({ id, depends_on, files }) => [id, depends_on, files]),
    [
      [1, [], ['src/login.ts']],
      [2, [1], []],
      [3, [2], []]
    ]
  )
  t.match(result.plan_md, /^# Plan\n[\s\S]*1\. Add the login page/)
  t.match((await kernel.call(planList, {})).sessions, [{ session_id: result.plan_session_id, status: 'pending' }])
  await kernel.close()
})

t.test('svc_plan returns the requested page of tasks', async t => {
  const { kernel } = await openWithoutDatabase()
  const page = await kernel.call(plan, { goal: GOAL, plan_page_offset: 1, plan_page_limit: 1 })
  t.same(
    page.tasks.map(({ id }) => id),
    [2]
  )
  t.match(page, { plan_total_tasks: 3, plan_page_offset: 1 })
  await kernel.close()
})

t.test('without a database svc_plan still drafts, and commands on stored plans throw ORC_NO_DATABASE', async t => {
  const { kernel } = await openWithoutDatabase()
  t.match(await kernel.call(plan, { goal: GOAL }), {
    plan_session_id: null,
    persistence: 'Not stored: Database not attached.'
  })
  const refused = { code: 'ORC_NO_DATABASE', message: /^Database not attached/ }
  await t.rejects(kernel.call(planNew, { goal: GOAL }), refused)
  await t.rejects(kernel.call(planReplan, { session_id: 'x', delta_hint: 'x' }), refused)
  await t.rejects(kernel.call(planList, {}), refused)
  for (const operation of [planStatus, planExecute, planResume])
    await t.rejects(kernel.call(operation, { session_id: 'x' }), refused)
  await kernel.close()
})

t.test('stub_body replaces the model only with stub_ack', async t => {
  const { kernel } = await openWithoutDatabase({ settings: { stub_body: REPLY, stub_ack: true } })
  t.match(await kernel.call(plan, { goal: GOAL }), {
    plan_source: 'stub',
    summary: 'Two steps',
    tasks: [{ description: 'Add the page' }, { description: 'Test the page' }]
  })
  await kernel.close()
  const unacknowledged = await openWithoutDatabase({ settings: { stub_body: REPLY } })
  t.match(await unacknowledged.kernel.call(plan, { goal: GOAL }), { plan_source: 'splitter' })
  await unacknowledged.kernel.close()
})

t.test('the model drafts if synthesis is on; its time is reported and charged to the session', async t => {
  const charged: unknown[] = []
  const requests: unknown[] = []
  const client: Partial<InferenceClient> = {
    async *chat(request) {
      requests.push(request)
      yield { type: 'text', text: REPLY.slice(0, 40) }
      yield { type: 'text', text: REPLY.slice(40) }
      yield {
        type: 'done',
        finishReason: 'stop',
        model: 'm',
        usage: { promptTokens: 11, completionTokens: 7, promptMs: null, completionMs: null }
      }
    }
  }
  const { kernel, fake } = await openWithoutDatabase({
    services: [
      fakeService(inferenceClient, client as InferenceClient),
      fakeService(questioning, {
        hasPending: async () => false,
        consider: async () => ({ asked: false, question_id: null, utility_bits_per_cost: 0, stop_reason: null }),
        debit: async session => {
          charged.push(session)
        }
      })
    ]
  })
  fake.planning = { ...fake.planning, llm_synthesis_enabled: true }
  const result = await kernel.call(plan, {
    goal: GOAL,
    plan_depth: 'minimal',
    plan_telemetry_session_id: 'chat',
    scope_files: ['src/a.ts'],
    temperature: 0.1,
    auto_expand_thin_plan: false
  })
  t.match(result, { plan_source: 'model', summary: 'Two steps' })
  // The client records the cost, for the session.
  const purpose = { category: 'planning', session: 'chat', charged: undefined }
  t.match(requests, [{ maxTokens: 3072, temperature: 0.1, format: { type: 'object' }, purpose }])
  t.match(JSON.stringify(requests), /src\/a\.ts/)
  t.match(fake.events, [{ type: 'llm_call_completed', session_id: 'chat', prompt_tokens: 11, completion_tokens: 7 }])
  t.same(charged, ['chat'])
  await kernel.close()
})

t.test(
  'a plan that is too thin throws PLN_ADEQUACY if adequacy is enforced, and is only reported otherwise',
  async t => {
    const { kernel, fake } = await openPlanning()
    t.match(await kernel.call(plan, { goal: THIN }), {
      plan_too_thin: true,
      loop_stop_reason: 'model_resolve_failed',
      adequacy_reason_codes: ['too_few_tasks']
    })
    fake.planning = { ...fake.planning, adequacy_enforce: true }
    const refused = { code: 'PLN_ADEQUACY', message: /^Plan adequacy: score 0\.\d\d/ }
    await t.rejects(kernel.call(plan, { goal: THIN }), refused)
    await t.rejects(kernel.call(planNew, { goal: THIN }), refused)
    await kernel.close()
  }
)

t.test('a fatigued user gets more detailed plans', async t => {
  const { kernel, fake } = await openWithoutDatabase()
  fake.fatigued = true
  t.match(await kernel.call(plan, { goal: 'Add the login page' }), {
    gap_report: { adequacy: { estimated_goal_complexity: 8, detail_target_min_tasks: 8 } }
  })
  await kernel.close()
})

t.test("the user of the session is asked a plan's first question", async t => {
  const questions: QuestionCandidate[] = []
  const { kernel } = await openWithoutDatabase({
    services: [
      fakeService(questioning, {
        hasPending: async () => false,
        debit: async () => {},
        async consider(question) {
          questions.push(question)
          return { asked: true, question_id: 'q1', utility_bits_per_cost: 1.5, stop_reason: null }
        }
      })
    ]
  })
  const vague = { goal: 'Purge all the old accounts and test that they are gone', session_id: 'chat' }
  const result = await kernel.call(plan, vague)
  t.match(result.qgate, {
    questioning: { question_needed: true, question_kind: 'open_ended', utility_bits_per_cost: 1.5 }
  })
  t.match(questions, [{ session_id: 'chat', surface: 'svc_plan', channel: 'plan', high_risk: true, prompt: /step 1/ }])
  await kernel.call(plan, { ...vague, question_link_session_id: 'other' })
  t.equal(questions[1]?.session_id, 'other')
  await kernel.call(plan, { ...vague, questioning_hints_enabled: false })
  await kernel.call(plan, { goal: vague.goal })
  t.equal(questions.length, 2)
  await kernel.close()
})

t.test('PLAN.md is written into the project; a symbolic link of that name is replaced, not followed', async t => {
  const { kernel } = await openWithoutDatabase()
  const file = join(kernel.root, 'PLAN.md')
  const elsewhere = join(t.testdir({ 'other.md': 'mine' }), 'other.md')
  symlinkSync(elsewhere, file)
  const { plan_md } = await kernel.call(plan, { goal: GOAL, write_to_disk: true })
  t.equal(readFileSync(file, 'utf8'), plan_md)
  t.equal(lstatSync(file).isSymbolicLink(), false)
  t.equal(readFileSync(elsewhere, 'utf8'), 'mine')
  await kernel.close()
})

t.test('throws PLN_FILE_REFUSED if PLAN.md cannot be written, and leaves no file', async t => {
  const { kernel } = await openWithoutDatabase()
  mkdirSync(join(kernel.root, 'PLAN.md'))
  writeFileSync(join(kernel.root, 'PLAN.md', 'x'), '')
  await t.rejects(kernel.call(plan, { goal: GOAL, write_to_disk: true }), { code: 'PLN_FILE_REFUSED' })
  t.equal(existsSync(join(kernel.root, 'PLAN.md', 'x')), true)
  await kernel.close()
})

t.test('creates, shows and replans a plan', async t => {
  const { kernel } = await openPlanning()
  const made = await kernel.call(planNew, { goal: GOAL, write_to_disk: true })
  t.match(made, { session_id: /^plan-/, goal: GOAL, versions: [{ version: 1 }], written_to_disk: true })
  t.equal(readFileSync(join(kernel.root, 'PLAN.md'), 'utf8'), made.plan_md)
  const status = await kernel.call(planStatus, { session_id: made.session_id })
  t.match(status, {
    status: 'pending',
    step_counts: { pending: 3, completed: 0, failed: 0, in_progress: 0, skipped: 0 },
    recent_events: [{ type: 'plan_session_created' }, { type: 'plan_version_created', version: 1, verdict: 'adequate' }]
  })
  const anew = await kernel.call(planReplan, {
    session_id: made.session_id,
    delta_hint: 'Translate the page into French'
  })
  t.match(anew, { replan_version: 2, qgate: { risk_decision: 'Answer' } })
  t.equal(anew.versions[1]?.steps.at(-1)?.description, 'Translate the page into French')
  t.equal(
    (await kernel.call(planStatus, { session_id: made.session_id })).status,
    'pending',
    'replanning does not execute the plan'
  )
  await kernel.close()
})

t.test('rejects input outside its limits', async t => {
  const { kernel } = await openWithoutDatabase()
  for (const input of [
    { goal: '' },
    { goal: 'x'.repeat(65_537) },
    { goal: GOAL, max_tasks: 0 },
    { goal: GOAL, max_refine_rounds: 9 },
    { goal: GOAL, gap_risk_threshold: 0.01 },
    { goal: GOAL, unknown: 1 }
  ])
    await t.rejects(kernel.call(plan, input as { goal: string }), { code: 'OPR_INPUT_INVALID' })
  await kernel.close()
})
