import fc from 'fast-check'
import t from 'tap'
import { type AdequacyQuestion, assessPlan, complexityHint, estimateGoal, targetTasks } from '#assess'
import type { PlanTask } from '#root'

/** Returns a task without any code, whose wording differs for each id. */
function task(id: number, change: Partial<PlanTask> = {}): PlanTask {
  return {
    id,
    description: `Update part ${'abcdefghijklmnop'[id] ?? id} so that it accepts the new option`,
    files: [`src/part-${id}.ts`],
    estimated_complexity: 4,
    depends_on: id === 1 ? [] : [id - 1],
    preconditions: [],
    ...change
  }
}

const tasks = (count: number, change: Partial<PlanTask> = {}) =>
  Array.from({ length: count }, (_, at) => task(at + 1, change))

function assess(list: readonly PlanTask[], change: Partial<AdequacyQuestion> = {}) {
  return assessPlan({ goal: 'Accept the new option', tasks: list, ...change })
}

t.test('complexityHint returns the router complexity, raised by files in scope', async t => {
  const cases: readonly (readonly [number | null, number, number | null])[] = [
    [null, 0, null],
    [2, 0, 2],
    [null, 1, 6],
    [2, 3, 6],
    [9, 3, 9],
    [null, 4, 7],
    [9, 9, 9]
  ]
  for (const [router, files, hint] of cases) t.equal(complexityHint(router, files), hint, `${router} ${files}`)
})

t.test(
  'estimateGoal returns 2, 4, 6 or 8, and 8 for goals with "compare", "synthesize" or "across" in lower case',
  async t => {
    t.same(
      [null, 1, 3, 4, 5, 6, 7, 8, 10, 99, -1].map(hint => estimateGoal('do it', hint)),
      [4, 2, 2, 4, 4, 6, 6, 8, 8, 8, 2]
    )
    for (const goal of ['compare both', 'synthesize it', 'move across']) t.equal(estimateGoal(goal, 2), 8)
    t.equal(estimateGoal('Compare both', 2), 2)
    t.equal(estimateGoal('do it', 2, true), 8, 'a plan for a fatigued user needs more detail')
  }
)

t.test('targetTasks depends on the estimate, the depth and fatigue', async t => {
  t.same(
    [2, 3, 4, 5, 6, 8, 9, 10].map(estimate => targetTasks(estimate)),
    [1, 1, 2, 2, 4, 4, 6, 8]
  )
  t.same(
    [2, 4, 6, 9].map(estimate => targetTasks(estimate, 'minimal')),
    [1, 1, 3, 5]
  )
  t.same(
    [2, 4, 6, 10].map(estimate => targetTasks(estimate, 'deep')),
    [3, 4, 6, 10]
  )
  t.same(
    [2, 6].map(estimate => targetTasks(estimate, 'standard', true)),
    [4, 8]
  )
  t.equal(targetTasks(2, 'minimal', true), 4)
})

t.test('assessPlan multiplies the confidence of a task by the factor of each code', async t => {
  const cases: readonly (readonly [string, Partial<PlanTask>, readonly string[], number, boolean])[] = [
    ['a good task', {}, [], 1, false],
    ['few characters', { description: 'Fix a b c' }, ['vague_short'], 0.65, false],
    ['few words', { description: 'Reimplement everything' }, ['vague_short', 'vague_phrase'], 0.65 * 0.75, false],
    ['no verb of action', { description: 'The login page is broken' }, ['vague_phrase'], 0.75, false],
    ['short and without a verb', { description: 'a b c d' }, ['vague_short'], 0.65, false],
    ['a verb after the sixth word', { description: 'the old one in the file update' }, ['vague_phrase'], 0.75, false],
    ['destructive', { description: 'Clean up with rm -rf build output' }, ['risk_destructive'], 0.35, true],
    ['destructive after a backup', { description: 'Drop table users after a backup of it' }, [], 1, false],
    [
      '"TBD" in the description',
      { description: 'Update the schema, columns TBD later' },
      ['tbd_placeholder'],
      0.7,
      false
    ],
    ['"tbd" as a file', { files: ['tbd'] }, ['tbd_placeholder'], 0.7, false],
    ['hard without preconditions', { estimated_complexity: 6 }, ['precondition_missing'], 0.7, false],
    ['hard with preconditions', { estimated_complexity: 6, preconditions: ['The build is green'] }, [], 1, false],
    ['hard without files', { estimated_complexity: 6, files: [' '] }, [], 1, false],
    ['a required test that is not mentioned', { test_decision: 'Required' }, ['heavy_without_test_hint'], 0.65, true],
    ['a required test with a test file', { test_decision: 'Required', files: ['test/a.ts'] }, [], 1, false],
    [
      'a required test in the preconditions',
      { test_decision: 'Required', preconditions: ['A way to verify it'] },
      [],
      1,
      false
    ],
    ['depends on itself', { depends_on: [2] }, ['deps_incomplete_or_order'], 0.55, false],
    ['depends on an unknown task', { depends_on: [0] }, ['deps_incomplete_or_order'], 0.55, false],
    [
      'destructive and "tbd"',
      { description: 'Purge the old data tbd' },
      ['risk_destructive', 'tbd_placeholder'],
      0.35 * 0.7,
      true
    ]
  ]
  for (const [name, change, codes, confidence, critical] of cases) {
    const [, found] = assess([task(1), task(2, change)]).per_task
    t.same(found?.reason_codes, codes, name)
    t.ok(Math.abs((found?.task_confidence ?? 0) - confidence) < 1e-12, `${name}: ${found?.task_confidence}`)
    t.equal(found?.critical, critical, name)
  }
})

t.test('the risk of a plan is the mean of 1 - confidence over its tasks', async t => {
  const report = assess([
    task(1),
    task(2, { description: 'The login page is broken' }),
    task(3, { test_decision: 'Required' })
  ])
  t.ok(Math.abs(report.aggregate_unresolved_risk - (0 + 0.25 + 0.35) / 3) < 1e-12)
  t.equal(report.critical_count, 1)
  t.equal(assess([]).aggregate_unresolved_risk, 1)
  t.equal(assess([]).adequacy.is_too_thin, true)
})

t.test('assessPlan multiplies the score of a plan by the factor of each code', async t => {
  const same = (id: number, change: Partial<PlanTask> = {}) =>
    task(id, { description: `Update the shared part ${id} for the option`, ...change })
  const short = (id: number) => task(id, { description: `Update the part ${'abcdef'[id]}`, files: [] })
  const cases: readonly (readonly [
    string,
    readonly PlanTask[],
    Partial<AdequacyQuestion>,
    readonly string[],
    number
  ])[] = [
    ['a good plan', tasks(4), { routerComplexity: 6 }, [], 1],
    ['one task for a target of four', tasks(1), { routerComplexity: 6 }, ['too_few_tasks'], 1 - (0.45 * 3) / 4],
    ['three tasks for a target of four', tasks(3), { routerComplexity: 8 }, ['too_few_tasks'], 1 - 0.45 / 4],
    ['one task for a small goal', tasks(1), { routerComplexity: 4 }, [], 1],
    [
      'two huge tasks',
      [...tasks(2), ...[3, 4, 5].map(id => task(id, { estimated_complexity: 9, preconditions: ['x'] }))],
      { routerComplexity: 6 },
      ['mega_task_cluster'],
      0.78
    ],
    ['without dependencies', tasks(4, { depends_on: [] }), { routerComplexity: 6 }, ['flat_dependency_graph'], 0.85],
    [
      'a source file in the goal, but in no task',
      tasks(4, { files: [] }),
      { routerComplexity: 6, goal: 'Update lib/core.py now' },
      ['goal_paths_unlinked'],
      0.8
    ],
    ['a slash that is no path', tasks(4, { files: [] }), { routerComplexity: 6, goal: 'Update and/or now' }, [], 1],
    [
      'a path in docs/',
      tasks(4, { files: [] }),
      { routerComplexity: 6, goal: 'Update docs/x' },
      ['goal_paths_unlinked'],
      0.8
    ],
    ['short tasks without files', [1, 2, 3, 4].map(short), { routerComplexity: 6 }, ['verbose_but_low_surface'], 0.86],
    [
      'the same first words in each task',
      [1, 2, 3, 4].map(id => same(id)),
      { routerComplexity: 6 },
      ['repeated_task_phrasing'],
      0.88
    ],
    [
      'fewer tasks than in the previous round',
      tasks(4),
      { routerComplexity: 6, previous: [...tasks(4), task(5, { files: [] })] },
      ['possible_rewrite_compression'],
      0.87
    ],
    [
      'fewer files than in the previous round',
      [...tasks(3), task(4, { files: [] })],
      { routerComplexity: 6, previous: tasks(4) },
      ['file_linkage_reduced'],
      0.85
    ],
    [
      'less text than in the previous round',
      tasks(4),
      { routerComplexity: 6, previous: tasks(4).map(each => ({ ...each, description: each.description.repeat(2) })) },
      ['description_mass_reduced'],
      0.9
    ],
    [
      'several codes',
      tasks(4, { depends_on: [], files: [] }),
      { routerComplexity: 6, goal: 'Update src/a.ts now', previous: tasks(4) },
      ['flat_dependency_graph', 'goal_paths_unlinked', 'file_linkage_reduced'],
      0.85 * 0.8 * 0.85
    ]
  ]
  for (const [name, list, change, codes, score] of cases) {
    const { adequacy } = assess(list, change)
    t.same(adequacy.reason_codes, codes, name)
    t.ok(Math.abs(adequacy.score - score) < 1e-12, `${name}: ${adequacy.score}`)
  }
})

t.test('a plan is too thin below score 0.82 with codes, below 0.58, or above risk 0.32', async t => {
  const thin = (list: readonly PlanTask[], change: Partial<AdequacyQuestion>) =>
    assess(list, change).adequacy.is_too_thin
  t.equal(thin(tasks(4), { routerComplexity: 6 }), false)
  t.equal(thin(tasks(4, { depends_on: [] }), { routerComplexity: 6 }), false, 'score 0.85 with codes')
  t.equal(thin(tasks(1), { routerComplexity: 6 }), true, 'score 0.66 with codes')
  const vague = { description: 'The login page is broken' }
  t.equal(thin(tasks(2, vague), {}), false, 'risk 0.25')
  t.equal(thin(tasks(2, { test_decision: 'Required' }), {}), true, 'risk 0.35')
})

t.test('suggests one question for each task, about its most serious problem, and at most 8', async t => {
  const questions = assess([
    task(1, { description: 'Purge all old data tbd' }),
    task(2, { depends_on: [9], description: 'The page' }),
    task(3, { description: 'The page' }),
    task(4)
  ]).suggested_clarifying_questions
  t.equal(questions.length, 3)
  t.match(questions, [/step 1 .*destroy/, /before step 2/, /acceptance criteria.*step 3/])
  t.equal(assess(tasks(20, { description: 'tbd' })).suggested_clarifying_questions.length, 8)
})

t.test('rubric scores are between 0 and 10', async t => {
  const good = assess([...tasks(3), task(4, { description: 'Test the new option in each of its parts' })], {
    routerComplexity: 6
  }).adequacy.rubric_scores
  t.same(good, {
    coverage: 10,
    dependency_ordering: 10,
    destructive_safety: 10,
    concreteness: 10,
    verification: 10,
    total: 10
  })
  const untested = assess(tasks(2), { routerComplexity: 6 }).adequacy.rubric_scores
  t.match(untested, { coverage: 5, verification: 5, total: 10 - 0.25 * 5 - 0.15 * 5 })
})

const anyTask = fc
  .record({
    description: fc.oneof(fc.string({ maxLength: 60 }), fc.constantFrom('Fix it', 'Purge all', 'Test src/a.ts tbd')),
    files: fc.array(fc.oneof(fc.string({ maxLength: 8 }), fc.constant('tbd')), { maxLength: 3 }),
    estimated_complexity: fc.integer({ min: 1, max: 10 }),
    depends_on: fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 3 }),
    preconditions: fc.array(fc.string({ maxLength: 5 }), { maxLength: 1 })
  })
  .map(each => each as Omit<PlanTask, 'id'>)
const anyPlan = fc
  .array(anyTask, { maxLength: 12 })
  .map(list => list.map((each, at): PlanTask => ({ ...each, id: at + 1 })))
const anyQuestion = fc.record({
  goal: fc.oneof(fc.string({ maxLength: 80 }), fc.constant('compare src/a.ts')),
  tasks: anyPlan,
  routerComplexity: fc.integer({ min: 1, max: 10 }),
  scopeFiles: fc.integer({ min: 0, max: 6 }),
  depth: fc.constantFrom('minimal' as const, 'standard' as const, 'deep' as const),
  fatigued: fc.boolean(),
  previous: anyPlan
})

t.test('scores, confidences and risks stay between 0 and 1, and rubric scores between 0 and 10', async () => {
  const within = (value: number, most = 1) => value >= 0 && value <= most + 1e-9
  fc.assert(
    fc.property(anyQuestion, question => {
      const report = assessPlan(question)
      return (
        within(report.adequacy.score) &&
        within(report.aggregate_unresolved_risk) &&
        report.per_task.every(each => within(each.task_confidence)) &&
        Object.values(report.adequacy.rubric_scores).every(value => within(value, 10))
      )
    })
  )
})

t.test('adding tasks never causes or increases the penalty too_few_tasks', async () => {
  fc.assert(
    fc.property(anyQuestion, anyTask, (question, more) => {
      const has = (list: readonly PlanTask[]) =>
        assessPlan({ ...question, tasks: list }).adequacy.reason_codes.includes('too_few_tasks')
      const longer = [...question.tasks, { ...more, id: question.tasks.length + 1 }]
      return !has(longer) || has(question.tasks)
    })
  )
})

t.test('a plan without codes has score 1, and a task without codes has confidence 1', async () => {
  fc.assert(
    fc.property(anyQuestion, question => {
      const { adequacy, per_task } = assessPlan(question)
      return (
        (adequacy.reason_codes.length === 0) === (adequacy.score === 1) &&
        per_task.every(each => (each.reason_codes.length === 0) === (each.task_confidence === 1))
      )
    })
  )
})
