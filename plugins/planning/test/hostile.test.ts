import t from 'tap'
import { assessPlan, qualityCodes, routeGoal } from '#assess'
import { parseModelPlan, splitGoal } from '#draft'
import { workflowName } from '#root'
import { DEFAULT_TRIGGERS, matchingTrigger } from '#store'

const SIZE = 131_072
const filled = (text: string) => text.repeat(Math.ceil(SIZE / text.length)).slice(0, SIZE)

/** Texts that make a backtracking expression take hours. */
const TEXTS: Readonly<Record<string, string>> = {
  spaces: `x${filled(' ')}x`,
  commas: `x${filled(',')}x`,
  dots: `${filled('.')}x`,
  brackets: `a/${filled(')')}x`,
  'names with dots': filled('a.'),
  'short clauses': `Fix this page now ${filled(' and a')}`,
  'numbers of items': filled(' 1. a'),
  lines: filled('\n'),
  headings: filled('#\n'),
  'half of a word': filled('expected '),
  'words that destroy': filled('rm drop delete '),
  'a list that never ends': filled('[{"tasks":'),
  'nothing but zeros': filled('\0')
}

for (const [name, text] of Object.entries(TEXTS)) {
  t.test(`128 KiB of ${name} are planned like any other text`, async t => {
    const tasks = splitGoal(text, { maxTasks: 30 })
    t.ok(tasks.length <= 30)
    const { score } = assessPlan({ goal: text, tasks }).adequacy
    t.ok(score >= 0 && score <= 1)
    t.ok(Array.isArray(qualityCodes(text, [text])))
    t.type(routeGoal(text, { mode: 'auto', planningEnabled: true }).strategy, 'string')
    t.type(workflowName(text), 'string')
    t.equal(parseModelPlan(text, 30), null)
    matchingTrigger(DEFAULT_TRIGGERS, text)
  })
}
