import t from 'tap'
import { assessPlan, qualityCodes, routeGoal } from '#assess'
import { parseModelPlan, splitGoal } from '#draft'
import { workflowName } from '#root'
import { DEFAULT_TRIGGERS, matchingTrigger } from '#store'

const SIZE = 131_072
const filled = (text: string) => text.repeat(Math.ceil(SIZE / text.length)).slice(0, SIZE)

/** Goals that would make a backtracking regular expression run for hours. */
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
  'half of a trigger phrase': filled('expected '),
  'destructive words': filled('rm drop delete '),
  'unclosed JSON lists': filled('[{"tasks":'),
  'NUL characters': filled('\0')
}

for (const [name, text] of Object.entries(TEXTS)) {
  t.test(`a goal of 128 KiB of ${name} is planned in time`, async t => {
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
