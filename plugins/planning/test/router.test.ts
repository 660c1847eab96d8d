import fc from 'fast-check'
import t from 'tap'
import { complexityOf, intentOf, routeGoal } from '#assess'

const words = (count: number, word = 'x') => Array.from({ length: count }, () => word).join(' ')

t.test('complexityOf depends on the number of words, and is at least 6 for broad goals', async t => {
  const cases: readonly (readonly [string, number])[] = [
    ['rename the flag', 2],
    [words(6), 2],
    [words(7), 5],
    [words(8), 5],
    [words(9), 6],
    [words(16), 6],
    [words(17), 7],
    [words(30), 7],
    [words(31), 9],
    ['where is it', 6],
    [`${words(15)} file`, 5]
  ]
  for (const [goal, complexity] of cases) t.equal(complexityOf(goal), complexity, goal)
})

t.test('intentOf checks for code words first, then structure words, then length', async t => {
  t.equal(intentOf('find the Function that parses'), 'CodeNavigation')
  t.equal(intentOf('fix src/main.rs'), 'CodeNavigation')
  t.equal(intentOf('what is Foo::bar'), 'CodeNavigation')
  t.equal(intentOf('overview, please'), 'RepoStructure')
  t.equal(intentOf('How does it start?'), 'RepoStructure')
  t.equal(intentOf(words(9)), 'BroadResearch')
  t.equal(intentOf('profile the server'), 'FactualLookup', 'a keyword inside another word does not count')
})

t.test('routeGoal uses the first matching rule', async t => {
  const decide = (
    goal: string,
    mode: 'auto' | 'direct' | 'force_plan' | 'workflow_only' = 'auto',
    planningEnabled = true
  ) => {
    const { strategy, confidence } = routeGoal(goal, { mode, planningEnabled })
    return [strategy, confidence]
  }
  t.same(decide('x', 'direct', false), ['ImmediateAct', 0.99])
  t.same(decide('x', 'force_plan', false), ['SequentialDag', 0.99])
  t.same(decide('x', 'workflow_only', false), ['WorkflowHandoff', 0.99])
  t.same(decide(words(40), 'auto', false), ['ImmediateAct', 0.95])
  t.same(decide(`run the release workflow ${words(6)}`), ['WorkflowHandoff', 0.75])
  t.same(decide('run the workflow'), ['ImmediateAct', 0.8], 'too small for a workflow')
  t.same(decide(words(7)), ['SequentialDag', 0.7])
})

t.test('more words never make a goal less complex', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[b-e]{1,6}$/), { maxLength: 40 }),
      fc.stringMatching(/^[b-e]{1,6}$/),
      (list, more) => {
        return complexityOf([...list, more].join(' ')) >= complexityOf(list.join(' '))
      }
    )
  )
})
