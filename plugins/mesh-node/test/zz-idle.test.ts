import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import t from 'tap'
import { openControl, openHost, WORKS, worker } from './bed.ts'

let last = process.cpuUsage()
const cpu = (l: string) => {
  const c = process.cpuUsage(last)
  last = process.cpuUsage()
  console.log('#', l, Math.round((c.user + c.system) / 1000))
}
const threads = () =>
  Object.fromEntries(
    readdirSync('/proc/self/task').map(t => {
      const s = readFileSync('/proc/self/task/' + t + '/stat', 'utf8')
      const f = s.slice(s.lastIndexOf(')') + 2).split(' ')
      return [t, [s.slice(s.indexOf('('), s.lastIndexOf(')') + 1), Number(f[11]) + Number(f[12])]]
    })
  ) as any
t.test('x', async t => {
  const control = await openControl(t)
  cpu('control')
  const p = worker()
  await (
    await openHost(t, { name: 'one', url: control.url, orchestrator: WORKS, processors: [p], fleet: true })
  ).close()
  cpu('host 1')
  const s = new Session()
  s.connect()
  await s.post('Profiler.enable')
  await s.post('Profiler.start')
  const b = threads()
  for (let i = 0; i < 10; i++) {
    const h = await openHost(t, { name: 'one', url: control.url, orchestrator: WORKS, processors: [p], fleet: true })
    cpu('host')
    if (i === 9) {
      const e = threads()
      console.log(
        '# ' +
          Object.entries(e)
            .map(([k, v]: any) => v[0] + ' ' + (v[1] - (b[k]?.[1] ?? 0)))
            .join(', ')
      )
    }
    await h.close()
    cpu('closed')
  }
  const { profile } = await s.post('Profiler.stop')
  writeFileSync('/tmp/prof-i/x.cpuprofile', JSON.stringify(profile))
})
