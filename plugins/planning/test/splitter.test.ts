import fc from 'fast-check'
import t from 'tap'
import { complexityOfText, piecesOf, splitGoal } from '#draft'

const VERIFICATION = 'Verify the result: run the tests and checks that cover this goal'
const steps = (goal: string, maxTasks?: number) =>
  splitGoal(goal, maxTasks === undefined ? {} : { maxTasks }).map(({ description }) => description)

t.test('splits lines, numbered items and clauses into steps, each after the previous one', async t => {
  t.same(steps('Read the config file\n- Add the new option\n2) Write the test for it'), [
    'Read the config file',
    'Add the new option',
    'Write the test for it'
  ])
  t.same(steps('1. Read the config file 2. Add the new option 3. Test the new option'), [
    'Read the config file',
    'Add the new option',
    'Test the new option'
  ])
  t.same(steps('Add the login page and write a test for it; then update the guide'), [
    'Add the login page',
    'write a test for it',
    'update the guide'
  ])
  t.same(steps('Add the login page, write a test for it, update the guide.'), [
    'Add the login page',
    'write a test for it',
    'update the guide'
  ])
  t.same(
    splitGoal('Add the login page and write a test for it').map(({ id, depends_on }) => [id, depends_on]),
    [
      [1, []],
      [2, [1]]
    ]
  )
})

t.test('keeps incomplete clauses together, and skips headings', async t => {
  t.same(piecesOf('Merge the read and write paths'), ['Merge the read and write paths'])
  t.same(piecesOf('# Goal\nAdd the login page\n\n## Notes\nKeep the old one'), [
    'Add the login page',
    'Keep the old one'
  ])
  t.same(piecesOf('fix'), ['fix'])
  t.same(piecesOf('# only a heading'), ['# only a heading'])
  t.same(piecesOf('   '), [])
})

t.test('adds a verifying step if the goal has none', async t => {
  t.same(steps('Add the login page'), ['Add the login page', VERIFICATION])
  for (const word of ['verify', 'Validation', 'regression', 'tests'])
    t.same(steps(`Add the login page with ${word}`), [`Add the login page with ${word}`])
})

t.test('cuts pieces of more than 36 words into chunks of 16', async t => {
  const goal = `Test ${Array.from({ length: 36 }, (_, at) => `w${at}`).join(' ')}`
  t.same(
    steps(goal).map(each => each.split(' ').length),
    [16, 17, 6]
  )
  t.equal(steps(goal.split(' ').slice(0, 36).join(' ')).length, 1)
})

t.test('joins the steps beyond maxTasks into the last one', async t => {
  const goal = 'Add the login page\nAdd the logout page\nAdd the profile page\nAdd the admin page'
  t.same(steps(goal, 3), [
    'Add the login page',
    'Add the logout page; Add the profile page; Add the admin page',
    VERIFICATION
  ])
  t.same(steps(goal, 1), ['Add the login page; Add the logout page; Add the profile page; Add the admin page'])
})

t.test('lists the paths in a step as its files, except paths outside the project', async t => {
  t.same(splitGoal('Test src/a.ts, (./docs/guide.md) and ../outside/b.ts')[0]?.files, ['src/a.ts', 'docs/guide.md'])
})

t.test('complexity is a tenth of the estimated tokens, between 3 and 10', async t => {
  t.equal(complexityOfText('short'), 3)
  t.equal(complexityOfText('x'.repeat(200)), 5)
  t.equal(complexityOfText('x'.repeat(4000)), 10)
})

t.test('any text yields at most maxTasks steps, each depending on the previous one', async () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 400 }), fc.integer({ min: 1, max: 12 }), (goal, maxTasks) => {
      const tasks = splitGoal(goal, { maxTasks })
      return (
        tasks.length <= maxTasks &&
        tasks.every(({ id, depends_on }, at) => id === at + 1 && depends_on.every(each => each === at))
      )
    })
  )
})
