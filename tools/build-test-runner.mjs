// Builds tap with the plugins of .taprc. After an installation, tap contains its default plugins, whose compiler does
// not work with TypeScript 7. A test run would build the right ones, but only after it has loaded the default ones.
import { spawnSync } from 'node:child_process'
import { t } from 'tap'

if (/@tapjs\/(?:typescript|mock)/.test(t.pluginSignature)) {
  const { status } = spawnSync('tap', ['build'], { stdio: 'inherit', shell: true })
  process.exitCode = status ?? 1
}
