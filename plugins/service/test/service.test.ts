import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { install, installOptions, MARK, serviceOptions, status, uninstall } from '#root'
import { DEFAULTS, makeMachine, output, USER } from './machine.ts'

const UNIT = 'etc/systemd/system/svc.service'

t.test('install writes a unit, and enables and starts it', async t => {
  const { services, ran, root } = makeMachine(t.testdir())
  const { code, text } = await output(io => install(services, DEFAULTS, io))
  t.equal(code, 0)
  t.match(text, /^installed .*svc\.service\nsvc runs, and starts with the machine\nlog: journalctl --unit svc\.service/)
  t.same(ran.slice(-3), ['systemctl daemon-reload', 'systemctl enable svc.service', 'systemctl restart svc.service'])
  const unit = readFileSync(join(root, UNIT), 'utf8')
  t.match(unit, `ExecStart=/usr/bin/node /opt/svc/bin/svc.cjs serve\n`)
  t.match(unit, `WorkingDirectory=${services.project}\n`)
  t.match(unit, `ReadWritePaths=-"${services.project}"\n`, 'a path with a space is one path')
  t.match(unit, 'User=ada\n')
  t.ok(statSync(join(services.system.home, '.local/share/svc')).isDirectory(), 'the service can write shared data')
})

t.test('a second installation replaces the file, and the service restarts with it', async t => {
  const { services, ran, root } = makeMachine(t.testdir())
  await output(io => install(services, DEFAULTS, io))
  ran.length = 0
  const again = { ...DEFAULTS, profile: 'model-server', gpu: true, memory_max: '8G' }
  const { text } = await output(io => install(services, again, io), true)
  t.match(JSON.parse(text), { status: 'replaced', manager: 'systemd', started: true })
  const unit = readFileSync(join(root, UNIT), 'utf8')
  t.match(unit, 'serve --profile model-server\n')
  t.notMatch(unit, 'PrivateDevices')
  t.match(unit, `MemoryHigh=${Math.floor(8 * 1024 ** 3 * 0.9)}\nMemoryMax=8G\n`)
  t.match(ran.at(-1), 'systemctl restart')
})

t.test('secrets are passed as credentials, not as variables', async t => {
  const { services, root } = makeMachine(t.testdir())
  await output(io => install(services, { ...DEFAULTS, credential: ['http_token:/etc/svc/100%'] }, io))
  const unit = readFileSync(join(root, UNIT), 'utf8')
  t.match(unit, 'LoadCredential=http_token:/etc/svc/100%%\n')
  t.notMatch(unit, /^Environment/m)
})

const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can give files away' }

t.test('what root left in the state folder belongs to the user of the service', asRoot, async t => {
  const { services, root } = makeMachine(
    t.testdir({ home: { ada: { 'my project': { '.vox': { cache: { index: '' } } } } } }),
    {
      answers: { 'getent passwd': { stdout: `ada:x:1234:1235::${t.testdirName}:/bin/sh\n` } }
    }
  )
  await output(io => install(services, DEFAULTS, io))
  for (const path of ['.vox', '.vox/cache', '.vox/cache/index'])
    t.match(statSync(join(root, 'home/ada/my project', path)), { uid: 1234, gid: 1235 }, path)
})

t.test('a dry run prints the file and changes nothing', async t => {
  const { services, ran, root } = makeMachine(t.testdir(), { uid: 1000 })
  const { text } = await output(io => install(services, { ...DEFAULTS, dry_run: true }, io))
  t.match(text, MARK)
  t.match(text, '[Install]\nWantedBy=multi-user.target\n')
  t.notOk(existsSync(join(root, UNIT)))
  t.notOk(ran.some(each => each.startsWith('systemctl')))
  const { text: json } = await output(io => install(services, { ...DEFAULTS, dry_run: true }, io), true)
  t.equal(JSON.parse(json).text, text)
})

t.test('a service of a user needs no root, and has no settings that only root may use', async t => {
  const { services, ran } = makeMachine(t.testdir(), { uid: 1000 })
  const { text } = await output(io => install(services, USER, io))
  t.match(text, 'loginctl enable-linger')
  const unit = readFileSync(join(services.system.home, '.config/systemd/user/svc.service'), 'utf8')
  t.match(unit, 'WantedBy=default.target')
  t.notMatch(unit, /^(User|ProtectSystem|CapabilityBoundingSet)=/m)
  t.match(ran, ['systemctl --user daemon-reload', 'systemctl --user enable svc.service'])
})

t.test('a service of the system needs root, and never runs as root by accident', async t => {
  const { services } = makeMachine(t.testdir(), { uid: 1000 })
  await t.rejects(
    output(io => install(services, DEFAULTS, io)),
    { code: 'SRV_PERMISSION', hint: /sudo.*--user/ }
  )
  const root = makeMachine(t.testdir(), { answers: { 'getent passwd': { stdout: 'root:x:0:0::/root:/bin/sh\n' } } })
  await t.rejects(
    output(io => install(root.services, installOptions({}), io)),
    { code: 'SRV_USER' }
  )
})

t.test('an unknown user is an error before anything is written', async t => {
  const { services, root } = makeMachine(t.testdir(), { answers: { 'getent passwd': { code: 2 } } })
  await t.rejects(
    output(io => install(services, DEFAULTS, io)),
    { code: 'SRV_USER', message: /^ada: / }
  )
  t.notOk(existsSync(join(root, UNIT)))
})

t.test('a file of another program is neither replaced nor removed', async t => {
  const { services, root } = makeMachine(t.testdir())
  const file = join(root, UNIT)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '[Service]\n')
  for (const run of [install, uninstall] as const)
    await t.rejects(
      output(io => run(services, DEFAULTS, io)),
      { code: 'SRV_FOREIGN_FILE' }
    )
  t.equal(readFileSync(file, 'utf8'), '[Service]\n')
})

t.test('if the service manager refuses the service, the former file is back', async t => {
  const answers = { 'systemctl restart': { code: 1, stderr: 'Job for svc.service failed.\n' } }
  const { services, root } = makeMachine(t.testdir(), { answers })
  await t.rejects(
    output(io => install(services, DEFAULTS, io)),
    { code: 'SRV_MANAGER_FAILED', message: /Job for svc\.service failed\.$/ }
  )
  t.notOk(existsSync(join(root, UNIT)))
  await output(io => install(services, { ...DEFAULTS, start: false }, io))
  const before = readFileSync(join(root, UNIT), 'utf8')
  await t.rejects(output(io => install(services, { ...DEFAULTS, profile: 'other' }, io)))
  t.equal(readFileSync(join(root, UNIT), 'utf8'), before)
})

t.test('without a service manager, the error says how to get the file', async t => {
  const missing = Object.assign(new Error('spawn systemctl ENOENT'), { code: 'ENOENT' })
  const { services } = makeMachine(t.testdir(), { answers: { systemctl: missing } })
  await t.rejects(
    output(io => install(services, DEFAULTS, io)),
    { code: 'SRV_UNSUPPORTED', hint: /--dry-run/ }
  )
  const windows = makeMachine(t.testdir(), { platform: 'win32' })
  await t.rejects(
    output(io => install(windows.services, USER, io)),
    { code: 'SRV_UNSUPPORTED' }
  )
})

t.test('status reports the service, with an exit code of 0 only while it runs', async t => {
  const show = {
    stdout: 'ActiveState=active\nUnitFileState=enabled\nMainPID=42\nNRestarts=3\nMemoryCurrent=104857600\n'
  }
  const machine = makeMachine(t.testdir(), { answers: { 'systemctl show': show } })
  await t.rejects(
    output(io => status(machine.services, DEFAULTS, io)),
    { code: 'SRV_NOT_INSTALLED' }
  )
  await output(io => install(machine.services, DEFAULTS, io))
  const running = await output(io => status(machine.services, DEFAULTS, io), true)
  t.equal(running.code, 0)
  t.match(JSON.parse(running.text), { state: 'active', enabled: true, pid: 42, restarts: 3, memory_bytes: 104_857_600 })
  show.stdout = 'ActiveState=failed\nUnitFileState=disabled\nMainPID=0\nNRestarts=5\nMemoryCurrent=[not set]\n'
  const failed = await output(io => status(machine.services, DEFAULTS, io))
  t.match(failed, { code: 1, text: /^svc: failed, 5 restarts, does not start with the machine\n/ })
})

t.test('uninstall stops the service, removes its file and leaves the project', async t => {
  const { services, ran, root } = makeMachine(t.testdir())
  await output(io => install(services, DEFAULTS, io))
  ran.length = 0
  const { text } = await output(io => uninstall(services, DEFAULTS, io))
  t.match(text, `${services.project} is unchanged`)
  t.notOk(existsSync(join(root, UNIT)))
  t.same(ran.slice(0, 2), ['systemctl disable --now svc.service', 'systemctl daemon-reload'])
  await t.rejects(
    output(io => uninstall(services, DEFAULTS, io)),
    { code: 'SRV_NOT_INSTALLED' }
  )
})

t.test('on macOS, install writes a property list and loads it', async t => {
  const { services, ran } = makeMachine(t.testdir(), { platform: 'darwin', uid: 501 })
  const { text } = await output(io => install(services, { ...USER, name: 'models', profile: 'model-server' }, io), true)
  const { file } = JSON.parse(text)
  t.match(file, /Library\/LaunchAgents\/dev\.svc\.models\.plist$/)
  t.match(readFileSync(file, 'utf8'), '<string>--profile</string>\n    <string>model-server</string>')
  t.match(ran, [
    'launchctl bootout gui/501/dev.svc.models',
    'launchctl enable gui/501/dev.svc.models',
    `launchctl bootstrap gui/501 ${file}`
  ])
  await t.rejects(
    output(io => install(services, { ...USER, gpu: true, credential: ['a:/b'] }, io)),
    { code: 'SRV_OPTIONS', message: /^--credential, --gpu: / }
  )
})

t.test('on macOS, status reads what launchctl prints', async t => {
  const print = { stdout: 'gui/501/dev.svc = {\n\tstate = running\n\n\tpid = 77\n}\n', code: 0 }
  const { services } = makeMachine(t.testdir(), { platform: 'darwin', uid: 501, answers: { 'launchctl print': print } })
  await output(io => install(services, USER, io))
  const running = await output(io => status(services, USER, io), true)
  t.match({ ...JSON.parse(running.text), code: running.code }, { state: 'active', pid: 77, enabled: true, code: 0 })
  print.stdout = 'gui/501/dev.svc = {\n\tstate = not running\n\tlast exit code = 78\n}\n'
  t.match(await output(io => status(services, USER, io)), { code: 1, text: /^dev|^svc: failed/ })
})

t.test('options have defaults, and a wrong one is an error that says how to write it', async t => {
  t.match(installOptions({}), { user: false, name: 'svc', memory_max: '80%', start: true, credential: [] })
  for (const given of [
    { name: '../x' },
    { credential: ['http_token'] },
    { credential: ['a:/b\nUser=root'] },
    { memory_max: 'much' }
  ])
    t.throws(() => installOptions(given), { code: 'SRV_OPTIONS', hint: /^write / })
  t.throws(() => serviceOptions({ name: 'a b' }), { code: 'SRV_OPTIONS' })
})
