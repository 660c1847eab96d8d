import fc from 'fast-check'
import picomatch from 'picomatch'
import t from 'tap'
import { AffinityGroups } from '#routing'

t.test('a file belongs to the first matching group', async t => {
  const groups = new AffinityGroups([
    { name: 'tests', patterns: ['**/*.test.ts'] },
    { name: 'core', patterns: ['packages/core/**', 'tools'] },
    { name: 'rest', patterns: ['packages/**/*'] }
  ])
  t.equal(groups.of('packages/core/a.test.ts'), 'tests')
  t.equal(groups.of('packages/core/a.ts'), 'core')
  t.equal(groups.of('packages/core/.hidden/a.ts'), 'core')
  t.equal(groups.of('packages/corex/a.ts'), 'rest')
  t.equal(groups.of('tools'), 'core')
  t.equal(groups.of('tools/x'), null)
  t.equal(groups.of('README.md'), null)
})

t.test('a file has no group if there are no groups', async t => {
  t.equal(new AffinityGroups([]).of('a/b'), null)
})

t.test('results stay the same when the cache of folders overflows', async t => {
  const groups = new AffinityGroups([{ name: 'even', patterns: ['d*0/**', 'd*2/**'] }])
  for (let round = 0; round < 2; round++)
    for (let index = 0; index < 5_000; index++) {
      const expected = index % 10 === 0 || index % 10 === 2 ? 'even' : null
      if (groups.of(`d${index}/x`) !== expected) t.fail(`d${index}`)
    }
  t.pass('all results are as expected')
})

t.test('cached results equal uncached ones', async t => {
  const names = fc.constantFrom('a', 'b', 'ab', '.h', 'x.ts', 'y.test.ts')
  const pieces = fc.constantFrom('a', 'b', 'ab', '*', '**', 'a*', '*.ts', '{a,b}', '[ab]', '.h', '!(a)', '?')
  const globs = fc
    .tuple(fc.constantFrom('', '', '', '!', './'), fc.array(pieces, { minLength: 1, maxLength: 4 }))
    .map(([sign, deps]) => sign + deps.join('/'))
  fc.assert(
    fc.property(
      fc.array(fc.array(globs, { minLength: 1, maxLength: 2 }), { maxLength: 4 }),
      fc.array(
        fc.array(names, { minLength: 1, maxLength: 4 }).map(deps => deps.join('/')),
        { maxLength: 8 }
      ),
      (patterns, paths) => {
        const groups = new AffinityGroups(patterns.map((of, index) => ({ name: `g${index}`, patterns: of })))
        for (const path of paths) {
          const index = patterns.findIndex(of => of.some(pattern => picomatch.isMatch(path, pattern, { dot: true })))
          const expected = index < 0 ? null : `g${index}`
          if (groups.of(path) !== expected)
            throw new Error(`${path}: ${groups.of(path)}, not ${expected} of ${JSON.stringify(patterns)}`)
        }
      }
    ),
    { numRuns: 600 }
  )
  t.pass('all results equal those of picomatch')
})
