import t from 'tap'
import { searchSplices } from './splices.ts'

t.test('a program without findings ends normally or by a failure that its types do not prevent', async t => {
  const { accepted, unsound } = searchSplices(20261127, 2_000)
  t.ok(accepted > 150, `${accepted} programs ran`)
  t.same(unsound, [])
})
