import { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { consoleLog } from '../../src/cli/console-log.ts'

t.test('lines are sentences, with the plugin and the hint', async t => {
  const lines: string[] = []
  const log = consoleLog('warn', false, line => lines.push(line))
  log.info('unheard')
  log.warn('watch out', { hint: 'do this' })
  log.warn('which?\n  did you mean this?', { hint: 'did you mean this?' })
  log.forPlugin('demo').error('broke', { error: new SvcError('X', 'broke', { hint: 'or that' }) })
  t.same(lines, [
    'warning: watch out\n  hint: do this\n',
    'warning: which?\n  did you mean this?\n',
    'error: demo: broke\n  hint: or that\n'
  ])
})

t.test('with --json lines are JSON', async t => {
  const lines: string[] = []
  const log = consoleLog('debug', true, line => lines.push(line))
  log.forPlugin('demo').debug('here', { token: 'hidden' })
  log.setLevel('error')
  log.warn('unheard')
  t.same(lines, ['{"level":"debug","plugin":"demo","message":"here"}\n'])
})
