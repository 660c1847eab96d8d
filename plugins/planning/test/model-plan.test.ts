import fc from 'fast-check'
import t from 'tap'
import { inOrder, parseModelPlan } from '#draft'
import type { PlanTask } from '#root'

t.test('parses a plan from an object, an array, a code fence or surrounding text', async t => {
  const plan = '{"summary":" S ","tasks":[{"id":1,"description":"Add the page"}]}'
  const expected = {
    summary: 'S',
    tasks: [
      { id: 1, description: 'Add the page', files: [], estimated_complexity: 3, depends_on: [], preconditions: [] }
    ]
  }
  t.same(parseModelPlan(plan, 9), expected)
  t.same(parseModelPlan(`Here it is:\n\`\`\`json\n${plan}\n\`\`\`\nGood luck.`, 9), expected)
  t.same(parseModelPlan('[{"description":"Add the page"}]', 9), { ...expected, summary: null })
})

t.test('returns null for a reply without a plan', async t => {
  for (const reply of [
    '',
    'no',
    '{',
    '{}',
    '{"tasks":{}}',
    '{"tasks":[]}',
    '{"tasks":[1,null,{"description":" "}]}',
    'null'
  ])
    t.equal(parseModelPlan(reply, 9), null, reply)
})

t.test('normalises fields, and drops paths outside the project', async t => {
  const [task] =
    parseModelPlan(
      JSON.stringify({
        tasks: [
          {
            description: ' Add the page ',
            category: 'code_gen',
            files: ['src\\a.ts', './src/b.ts', 'src/b.ts', '../c', '/etc/passwd', 'C:/x', 5, ' '],
            estimated_complexity: 99,
            depends_on: ['x', 4.5],
            test_decision: 'required',
            preconditions: 'none'
          }
        ]
      }),
      9
    )?.tasks ?? []
  t.same(task, {
    id: 1,
    description: 'Add the page',
    category: 'CodeGen',
    files: ['src/a.ts', 'src/b.ts'],
    estimated_complexity: 10,
    depends_on: [],
    test_decision: 'Required',
    preconditions: []
  })
})

t.test('returns at most maxTasks tasks', async t => {
  const tasks = Array.from({ length: 5 }, () => ({ description: 'Add the page' }))
  t.equal(parseModelPlan(JSON.stringify({ tasks }), 2)?.tasks.length, 2)
})

const task = (id: number, ...depends_on: number[]): PlanTask => ({
  id,
  description: `t${id}`,
  files: [],
  estimated_complexity: 5,
  depends_on,
  preconditions: []
})

t.test('sorts tasks after their dependencies, and renumbers them', async t => {
  const ordered = inOrder([task(10, 30), task(20), task(30, 20)])
  t.same(
    ordered.map(({ id, description, depends_on }) => [id, description, depends_on]),
    [
      [1, 't20', []],
      [2, 't30', [1]],
      [3, 't10', [2]]
    ]
  )
})

t.test('cyclic and unknown dependencies stay invalid', async t => {
  t.same(
    inOrder([task(1, 2), task(2, 1), task(3, 9)]).map(({ depends_on }) => depends_on),
    [[0], [3], [2]]
  )
})

t.test('sorting keeps all tasks, and orders them if there is no cycle', async () => {
  fc.assert(
    fc.property(
      fc
        .uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 10 })
        .chain(ids => fc.tuple(fc.constant(ids), fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 15 }))),
      ([ids, edges]) => {
        const sorted = [...ids].sort((a, b) => a - b)
        const tasks = ids.map(id =>
          task(
            id,
            ...edges.flatMap(([from, to]) => {
              const a = sorted[from % sorted.length] ?? 0
              const b = sorted[to % sorted.length] ?? 0
              return Math.max(a, b) === id && a !== b ? [Math.min(a, b)] : []
            })
          )
        )
        const ordered = inOrder(tasks)
        return (
          ordered.length === tasks.length &&
          ordered.every(({ id, depends_on }, at) => id === at + 1 && depends_on.every(each => each >= 1 && each < id))
        )
      }
    )
  )
})
