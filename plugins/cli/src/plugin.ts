import { resolve } from 'node:path'
import { kernelAdmin, kernelPort } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { configExplain, configList, configSchema, configValidate } from './config-operations.ts'
import { examineInstallation, examinePlugins, type Finding } from './doctor.ts'
import {
  doctor,
  pluginsBuild,
  pluginsDisable,
  pluginsDoctor,
  pluginsEffects,
  pluginsEnable,
  pluginsGraph,
  pluginsList,
  pluginsNew,
  pluginsReload,
  pluginsTop,
  pluginsWhy
} from './plugins-operations.ts'
import { changeText, effectTree, explanationText, graphDot, graphText, problemText } from './render.ts'
import { scaffold } from './scaffold.ts'

export default definePlugin({
  name: 'cli',
  summary: 'Management of plugins and configuration, for the terminal and for programs',
  requires: { admin: kernelAdmin, kernel: kernelPort },
  operations: [
    pluginsList,
    pluginsGraph,
    pluginsWhy,
    pluginsEffects,
    pluginsTop,
    pluginsEnable,
    pluginsDisable,
    pluginsReload,
    pluginsNew,
    pluginsBuild,
    pluginsDoctor,
    doctor,
    configList,
    configExplain,
    configValidate,
    configSchema
  ],
  activate(ctx, { admin, kernel }) {
    const known = (names: readonly string[]): string | undefined =>
      names.find(name => admin.manifest(name) === undefined && !admin.plugins().some(plugin => plugin.name === name))

    ctx.implement(pluginsList, () => ({ plugins: [...admin.plugins()] }))
    ctx.implement(pluginsGraph, ({ dot }) => {
      const edges = [...admin.graph()]
      return { edges, text: dot ? graphDot(edges) : graphText(edges) }
    })
    ctx.implement(pluginsWhy, ({ subject }) => {
      const reasons = [...admin.why(subject)]
      return { reasons, text: reasons.join('\n') }
    })
    ctx.implement(pluginsEffects, ({ name }, call) => {
      if (known([name]) !== undefined) call.fail('CLI_PLUGIN_UNKNOWN', `no plugin named ${name} was discovered`)
      const tree = admin.effects(name)
      return { tree, text: effectTree(tree) }
    })
    ctx.implement(pluginsTop, async ({ seconds }, call) => ({
      plugins: [...(await admin.top(seconds * 1000, call.signal))]
    }))
    ctx.implement(pluginsEnable, async ({ names, persist, dryRun }, call) => {
      const missing = known(names)
      if (missing !== undefined) call.fail('CLI_PLUGIN_UNKNOWN', `no plugin named ${missing} was discovered`)
      const report = await admin.apply({ enable: names, persist }, { dryRun })
      return { ...mutable(report), text: changeText(report) }
    })
    ctx.implement(pluginsDisable, async ({ names, persist, dryRun }, call) => {
      const missing = known(names)
      if (missing !== undefined) call.fail('CLI_PLUGIN_UNKNOWN', `no plugin named ${missing} was discovered`)
      const report = await admin.apply({ disable: names, persist }, { dryRun })
      return { ...mutable(report), text: changeText(report) }
    })
    ctx.implement(pluginsReload, async ({ names, dryRun }, call) => {
      const missing = known(names)
      if (missing !== undefined) call.fail('CLI_PLUGIN_UNKNOWN', `no plugin named ${missing} was discovered`)
      const report = await admin.apply({ reload: names }, { dryRun })
      return { ...mutable(report), text: changeText(report) }
    })
    ctx.implement(pluginsNew, ({ name, directory }, call) => scaffold(ctx.projectRoot, name, directory, call))
    ctx.implement(pluginsBuild, async ({ directory }) => {
      const { name, version, files } = await admin.build(resolve(directory))
      return {
        name,
        version,
        files: [...files],
        text: [`built ${name} ${version}`, ...files.map(file => `  ${file}`)].join('\n')
      }
    })
    ctx.implement(pluginsDoctor, async () => verdict(await examinePlugins(admin)))
    ctx.implement(doctor, async () => verdict(await examineInstallation(admin, kernel.projectRoot)))

    ctx.implement(configList, ({ prefix }) => ({
      settings: admin.settings(prefix).map(setting => ({ ...setting, env: [...setting.env] }))
    }))
    ctx.implement(configExplain, ({ key }) => {
      const explained = admin.explain(key)
      const { env, overrides, ...rest } = explained
      return { ...rest, env: [...env], overrides: [...overrides], text: explanationText(explained) }
    })
    ctx.implement(configValidate, async () => {
      const problems = [...(await admin.validate())]
      const valid = problems.every(problem => problem.severity !== 'error')
      return {
        valid,
        problems,
        text: problems.length === 0 ? 'the configuration is valid' : problems.map(problemText).join('\n')
      }
    })
    ctx.implement(configSchema, () => admin.configSchema())
  }
})

function verdict(findings: Finding[]): { healthy: boolean; findings: Finding[] } {
  return { healthy: findings.every(finding => finding.status !== 'error'), findings }
}

type Mutable<A> = { -readonly [K in keyof A]: A[K] extends readonly (infer E)[] ? E[] : A[K] }

function mutable<A extends object>(report: A): Mutable<A> {
  return { ...report } as Mutable<A>
}
