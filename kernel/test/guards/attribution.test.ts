import { join } from 'node:path'
import t from 'tap'
import { claim, framesOf, ownerOf, ownerOfFile } from '#guards'
import { start } from '../fixtures/loader/plugin-folder.ts'

t.test('a file belongs to the innermost package that contains it', t => {
  claim('/a/outer', 'outer')
  claim('/a/outer/plugins/inner', 'inner')
  t.equal(ownerOfFile('/a/outer/src/x.ts'), 'outer')
  t.equal(ownerOfFile('/a/outer/plugins/inner/src/x.ts'), 'inner')
  t.equal(ownerOfFile('/a/outer/node_modules/dep/index.js'), 'outer')
  t.equal(ownerOfFile('/a/outermost/src/x.ts'), undefined)
  t.end()
})

t.test('an error belongs to the innermost plugin on its stack, or on that of its cause', async t => {
  const { plugin, root } = await start(t, "ctx.fail(() => { throw new Error('inner') })")
  const caught = (): unknown => {
    try {
      plugin.activate({ fail: (callback: () => void) => callback() })
    } catch (error) {
      return error
    }
    return undefined
  }
  const error = caught()
  t.equal(ownerOf(error), 'sample')
  t.equal(ownerOf(new Error('outer', { cause: error })), 'sample')
  t.equal(ownerOf(new Error('mine')), undefined)
  t.equal(ownerOf('text'), undefined)
  t.equal([...framesOf((error as Error).stack)][0]?.file, join(root, 'src/plugin.ts'))
})

t.test('framesOf parses all forms of stack lines', t => {
  const stack = [
    'Error: at (not:1:2)',
    '    at Object.run (/a b/(c)/x.ts:3:4)',
    '    at async file:///d%20e/y.mjs?1:5:6',
    '    at new Thing (node:net:7:8)',
    '    at /plain.js:9:10',
    '    at Promise.all (index 0)',
    '    at async Promise.all (index 1)'
  ].join('\n')
  t.same(
    [...framesOf(stack)],
    [
      { file: '/a b/(c)/x.ts', line: 3 },
      { file: '/d e/y.mjs', line: 5 },
      { file: 'node:net', line: 7 },
      { file: '/plain.js', line: 9 }
    ]
  )
  t.end()
})
