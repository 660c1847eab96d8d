import t from 'tap'
import { Output } from '#cli'

t.test('events are printed on standard output, progress on standard error, and no events if the view says so', t => {
  const shown = (view: { readonly events?: false }): { stdout: string; stderr: string } => {
    const written = { stdout: '', stderr: '' }
    const capture = (name: 'stdout' | 'stderr') =>
      t.capture(process[name], 'write', (text: string | Uint8Array) => {
        written[name] += text
        return true
      })
    const captures = [capture('stdout'), capture('stderr')]
    const output = new Output(false, { text: 'text', ...view })
    output.onEvent({ sent: 1 })
    output.onProgress(1, 2, 'a.pdf')
    const code = output.finish({ text: 'done' })
    for (const { restore } of captures) restore()
    t.equal(code, 0)
    return written
  }
  t.same(shown({}), { stdout: '{"sent":1}\ndone\n', stderr: 'a.pdf 1/2\n' })
  t.same(shown({ events: false }), { stdout: 'done\n', stderr: 'a.pdf 1/2\n' })
  t.end()
})
