import t from 'tap'
import { draftPlan, type PlannerModel, type RefinementOptions } from '#draft'

const THIN_GOAL = 'Adapt the login page across its languages'
const step = (id: number, description: string) => ({
  id,
  description,
  files: ['src/login.ts'],
  estimated_complexity: 4,
  depends_on: id === 1 ? [] : [id - 1]
})
const GOOD = JSON.stringify({
  summary: 'Four steps',
  tasks: [
    step(1, 'Inspect the login page and list what differs'),
    step(2, 'Update the colours of the login page to the design'),
    step(3, 'Adapt the spacing of the fields to the design'),
    step(4, 'Test the login page in three browsers')
  ]
})
const THIN = JSON.stringify({ tasks: [step(1, 'Look into the login page')] })

/** Returns a model that replies in order and then repeats the last reply; an error is thrown instead. */
function modelOf(...replies: readonly (string | Error)[]): PlannerModel & { prompts: string[] } {
  const prompts: string[] = []
  return {
    source: 'model',
    prompts,
    async reply({ messages }) {
      const reply = replies[Math.min(prompts.length, replies.length - 1)] ?? ''
      prompts.push(messages.at(-1)?.content ?? '')
      if (reply instanceof Error) throw reply
      return { text: reply, promptTokens: 100, completionTokens: 50 }
    }
  }
}

function refine(model: PlannerModel | null, change: Partial<RefinementOptions> = {}) {
  return draftPlan({
    brief: { goal: THIN_GOAL, scopeFiles: [], maxTasks: 30, depth: 'standard' },
    loopMode: 'off',
    autoExpand: true,
    maxRounds: 2,
    tokenBudget: 18_000,
    riskThreshold: 0.28,
    synthesise: false,
    fatigued: false,
    model,
    signal: new AbortController().signal,
    ...change
  })
}

t.test('a goal is not refined if its text yields a good enough plan', async t => {
  const model = modelOf(GOOD)
  const goal = 'Add the login page and write a test for it'
  const refined = await refine(model, { brief: { goal, scopeFiles: [], maxTasks: 30, depth: 'minimal' } })
  t.match(refined, { source: 'splitter', rounds: 0, stopReason: 'ready', modelProblem: null })
  t.equal(model.prompts.length, 0)
})

t.test('a plan that is too thin is refined even with loop_mode off, unless autoExpand is off', async t => {
  const model = modelOf(GOOD)
  const refined = await refine(model)
  t.match(refined, { source: 'model', rounds: 1, stopReason: 'ready_below_threshold', summary: 'Four steps' })
  t.equal(refined.tasks.length, 4)
  t.match(model.prompts[0], /too_few_tasks/)
  t.match(await refine(model, { autoExpand: false }), { rounds: 0, stopReason: 'refinement_off', source: 'splitter' })
  t.match(await refine(model, { maxRounds: 0 }), { rounds: 0, stopReason: 'refinement_off' })
})

t.test('without a working model the goal is split by its text, and the problem is reported', async t => {
  t.match(await refine(null), { source: 'splitter', stopReason: 'model_resolve_failed', modelProblem: null })
  t.match(await refine(modelOf(new Error('no server answers'))), {
    source: 'splitter',
    stopReason: 'model_resolve_failed',
    modelProblem: 'no server answers'
  })
  t.match(await refine(modelOf(new Error('down')), { synthesise: true }), { source: 'splitter', modelProblem: 'down' })
})

t.test('repeats the request once after an invalid reply', async t => {
  const model = modelOf('Certainly!', GOOD)
  t.match(await refine(model, { synthesise: true }), { source: 'model', stopReason: 'ready', rounds: 0 })
  t.match(model.prompts[1], /not the requested JSON object/)
  const stubborn = modelOf('Certainly!')
  t.match(await refine(stubborn), { source: 'splitter', stopReason: 'reply_invalid' })
  t.equal(stubborn.prompts.length, 2)
})

t.test('limits the number of rounds, and discards a round that makes the plan worse', async t => {
  const model = modelOf(THIN)
  const refined = await refine(model, { loopMode: 'auto', maxRounds: 3 })
  t.match(refined, { rounds: 3, stopReason: 'max_refine_rounds', source: 'splitter' })
  t.equal(refined.tasks.length, 2)
  t.equal((await refine(modelOf(THIN), { maxRounds: 8 })).rounds, 4, 'at most 4 rounds with loop_mode off')
})

t.test('auto refines until the risk is below the threshold, force at least once', async t => {
  t.match(await refine(modelOf(GOOD), { loopMode: 'auto', synthesise: true }), { rounds: 0, stopReason: 'ready' })
  t.match(await refine(modelOf(GOOD), { loopMode: 'force', synthesise: true }), {
    rounds: 1,
    stopReason: 'ready_below_threshold'
  })
})

t.test('a round starts only if the token budget leaves room for its reply', async t => {
  t.match(await refine(modelOf(THIN), { tokenBudget: 4095 }), { rounds: 0, stopReason: 'token_budget' })
  // A round uses 150 tokens, so the budget has no room for the second reply of up to 4,096 tokens.
  t.match(await refine(modelOf(THIN), { tokenBudget: 4200, loopMode: 'auto' }), {
    rounds: 1,
    stopReason: 'token_budget'
  })
})

t.test('throws if the signal is aborted', async t => {
  const abort = new AbortController()
  const model: PlannerModel = {
    source: 'model',
    async reply({ signal }) {
      abort.abort(new Error('enough'))
      signal.throwIfAborted()
      throw new Error('not reached')
    }
  }
  await t.rejects(refine(model, { signal: abort.signal }), { message: 'enough' })
})

t.test('reports each call of the model with its tokens', async t => {
  const calls: number[] = []
  await refine(modelOf(GOOD), { onModelCall: ({ tokens }) => calls.push(tokens) })
  t.same(calls, [150])
})
