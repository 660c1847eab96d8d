import t from 'tap'
import { PLAIN, searchSplices, WITH_TABLES } from './splices.ts'

t.setTimeout(600_000)

t.test('a program without findings ends normally or by a failure that its types do not prevent', async t => {
  const { accepted, unsound } = searchSplices(PLAIN, 20261127, 2_000)
  t.ok(accepted > 150, `${accepted} programs ran`)
  t.same(unsound, [])
})

t.test('the same holds for programs that use tables', async t => {
  const { accepted, unsound } = searchSplices(WITH_TABLES, 20261127, 1_000)
  t.ok(accepted > 30, `${accepted} programs ran`)
  t.same(unsound, [])
})
