import { resolve } from 'node:path'
import { type ChangeReport, type KernelChange, kernelAdmin, kernelPort } from '@svc/contracts'
import {
  type Call,
  closest,
  defined,
  definePlugin,
  type ErrorsOf,
  errorDocs,
  type OutputOf,
  type Permissions
} from '@svc/plugin-sdk'
import { withCallerProblems } from './caller-problems.ts'
import { configExplain, configList, configSchema, configValidate } from './config-operations.ts'
import { examineInstallation, examinePlugins, type Finding } from './doctor.ts'
import {
  configHistory,
  configPreview,
  configRead,
  configRollback,
  configSet,
  configUnset,
  configWrite,
  secretsDoctor
} from './edit-operations.ts'
import { editOf, history, previewEdit, readFile, secretsVerdict, writeEdit } from './edits.ts'
import { errorText, readErrorCatalog } from './error-catalog.ts'
import { errorsExplain, errorsList } from './error-operations.ts'
import { graphDot, graphMermaid, graphText } from './graph.ts'
import { declaredEffects, isOneShot, NOTHING_SERVES, withoutRunState, withWrittenSettings } from './one-shot.ts'
import {
  doctor,
  generationsList,
  pluginsBuild,
  pluginsConflicts,
  pluginsDisable,
  pluginsDoctor,
  pluginsEffects,
  pluginsEnable,
  pluginsGraph,
  pluginsHooks,
  pluginsList,
  pluginsNew,
  pluginsPermissions,
  pluginsReload,
  pluginsTop,
  pluginsWhy
} from './plugins-operations.ts'
import {
  changeText,
  conflictText,
  effectTree,
  explanationText,
  generationSummary,
  permissionText,
  problemText
} from './render.ts'
import { scaffold, scaffoldError } from './scaffold.ts'

export default definePlugin({
  name: 'cli',
  summary: 'Commands that manage plugins and configuration',
  requires: { admin: kernelAdmin, kernel: kernelPort },
  operations: [
    pluginsList,
    pluginsGraph,
    pluginsWhy,
    pluginsEffects,
    pluginsHooks,
    pluginsTop,
    pluginsEnable,
    pluginsDisable,
    pluginsReload,
    pluginsNew,
    pluginsBuild,
    pluginsDoctor,
    generationsList,
    pluginsConflicts,
    pluginsPermissions,
    doctor,
    configList,
    configExplain,
    configValidate,
    configSchema,
    configRead,
    configPreview,
    configWrite,
    configSet,
    configUnset,
    configHistory,
    configRollback,
    secretsDoctor,
    errorsExplain,
    errorsList
  ],
  activate(ctx, { admin, kernel }) {
    const installation = { admin, projectRoot: kernel.projectRoot, openState: () => ctx.dataDirectory() }
    const change = async (request: KernelChange, dryRun: boolean, call: Call<ErrorsOf<typeof pluginsEnable>>) => {
      const oneShot = isOneShot(call)
      if (oneShot && request.persist !== true) call.fail('CLI_NO_DAEMON', NOTHING_SERVES)
      const report = await admin.apply(request, { dryRun })
      return changeResult(withWrittenSettings(report, oneShot), oneShot)
    }

    ctx.implement(pluginsList, async (_input, call) => {
      if (!isOneShot(call)) return { plugins: [...admin.plugins()], serving: true, note: '' }
      const errors = (await admin.validate()).filter(problem => problem.severity === 'error')
      const broken = errors.length === 0 ? [] : ['the configuration has errors; list them with svc config validate']
      return {
        plugins: admin.plugins().map(withoutRunState),
        serving: false,
        note: [NOTHING_SERVES, ...broken].join('\n')
      }
    })
    ctx.implement(pluginsGraph, ({ dot, mermaid }) => {
      const edges = [...admin.graph()]
      const draw = dot ? graphDot : mermaid ? graphMermaid : graphText
      return { edges, text: draw(edges) }
    })
    ctx.implement(pluginsWhy, ({ subject, callerProblems }, call) => {
      const reasons = [
        ...admin.why(subject),
        ...callerProblems.filter(({ plugin }) => plugin === subject).map(({ message }) => `in this shell: ${message}`),
        ...(isOneShot(call) ? [NOTHING_SERVES] : [])
      ]
      return { reasons, text: reasons.join('\n') }
    })
    ctx.implement(pluginsHooks, (_, call) => ({
      hooks: admin.hooks().map(hook => {
        const { payload, taps } = hook
        return { ...hook, payload: { ...payload }, fields: Object.keys(payload), taps: [...taps] }
      }),
      note: isOneShot(call) ? `${NOTHING_SERVES}\nonly a server knows which plugins tap a hook` : ''
    }))
    ctx.implement(pluginsEffects, ({ name }, call) => {
      const registered = admin.effects(name)
      const tree = isOneShot(call) ? declaredEffects(name, admin.manifest(name)) : registered
      return { tree, text: effectTree(tree) }
    })
    ctx.implement(pluginsTop, async ({ seconds }, call) => {
      if (isOneShot(call)) call.fail('CLI_NO_DAEMON', NOTHING_SERVES)
      return { plugins: [...(await admin.top(seconds * 1000, call.signal))] }
    })
    ctx.implement(pluginsEnable, ({ names, persist, dryRun }, call) => change({ enable: names, persist }, dryRun, call))
    ctx.implement(pluginsDisable, ({ names, persist, dryRun }, call) =>
      change({ disable: names, persist }, dryRun, call)
    )
    ctx.implement(pluginsReload, ({ names, dryRun }, call) => change({ reload: names }, dryRun, call))
    ctx.implement(pluginsNew, ({ name, directory, page }) => {
      const other = admin.plugins().find(plugin => plugin.name === name)
      if (other !== undefined)
        throw scaffoldError('CLI_NAME_TAKEN', `a plugin named ${name} already exists in ${other.location}`, {
          hint: `choose another name, for example my-${name}`
        })
      return scaffold(ctx.projectRoot, name, directory, page)
    })
    ctx.implement(pluginsBuild, async ({ directory }) => {
      const { name, version, files } = await admin.build(resolve(directory))
      return {
        name,
        version,
        files: [...files],
        text: [`built ${name} ${version}`, ...files.map(file => `  ${file}`)].join('\n')
      }
    })
    ctx.implement(pluginsDoctor, async (_input, call) => verdict(await examinePlugins(admin, isOneShot(call))))
    ctx.implement(doctor, async (_input, call) => verdict(await examineInstallation(installation, isOneShot(call))))

    ctx.implement(configList, ({ prefix }) => ({
      settings: admin.settings(prefix).map(setting => ({ ...setting, env: [...setting.env] }))
    }))
    ctx.implement(configExplain, ({ key, callerProblems }) => {
      const { env, overrides, refused, ...rest } = admin.explain(key)
      const findings = admin.findings().filter(finding => finding.key === rest.key)
      const others = findings.filter(({ message }) => refused === undefined || !message.includes(refused.message))
      const text = [
        explanationText({ ...rest, env, overrides, ...defined({ refused }) }),
        ...others.map(({ message }) => `  rejected  ${message}`),
        ...callerProblems
          .filter(problem => problem.key === rest.key)
          .map(({ message }) => `  rejected  in this shell: ${message}`)
      ].join('\n')
      return { ...rest, env: [...env], overrides: [...overrides], ...defined({ refused }), text }
    })
    ctx.implement(configValidate, async ({ callerProblems }) => {
      const found = withCallerProblems(await admin.validate(), callerProblems)
      // A server ignores an invalid environment variable with a warning. Here it is an error.
      const problems = found.map(problem =>
        problem.code === 'CFG_ENV_INVALID' ? { ...problem, severity: 'error' as const } : problem
      )
      return {
        valid: problems.every(({ severity }) => severity !== 'error'),
        problems,
        text: problems.length === 0 ? 'the configuration is valid' : problems.map(problemText).join('\n')
      }
    })
    ctx.implement(configSchema, () => admin.configSchema())

    ctx.implement(generationsList, (_input, call) => ({
      generations: admin.generations().map(each => ({
        ...each,
        changes: generationSummary(each),
        added: [...each.added],
        replaced: [...each.replaced],
        removed: [...each.removed],
        kept: [...each.kept],
        refused: each.refused === null ? null : { ...each.refused }
      })),
      note: isOneShot(call) ? NOTHING_SERVES : ''
    }))
    ctx.implement(pluginsConflicts, () => {
      const { keys, names } = admin.conflicts()
      return {
        keys: keys.map(key => ({ ...key, claims: key.claims.map(claim => ({ ...claim })) })),
        names: names.map(each => ({ ...each })),
        text: conflictText({ keys, names })
      }
    })
    ctx.implement(pluginsPermissions, ({ name }) => {
      const report = admin.permissions(name)
      const { plugin, isolation, requested, granted, effective } = report
      return {
        plugin,
        isolation,
        requested: plainPermissions(requested),
        granted: granted === null ? null : plainPermissions(granted),
        effective: effective === null ? null : plainPermissions(effective),
        text: permissionText(report)
      }
    })

    ctx.implement(configRead, () => readFile(admin))
    ctx.implement(configPreview, input => previewEdit(admin, editOf(input)))
    ctx.implement(configWrite, ({ digest, ...edit }, call) =>
      writeEdit(admin, editOf(edit), { digest, oneShot: isOneShot(call) })
    )
    ctx.implement(configSet, ({ settings, dryRun }, call) =>
      writeEdit(admin, { assignments: settings }, { dryRun, oneShot: isOneShot(call) })
    )
    ctx.implement(configUnset, ({ keys, dryRun }, call) => {
      const changes = Object.fromEntries(keys.map(key => [key, null]))
      return writeEdit(admin, { changes }, { dryRun, oneShot: isOneShot(call) })
    })
    ctx.implement(configHistory, () => history(admin))
    ctx.implement(configRollback, ({ number, id, digest, dryRun }, call) =>
      writeEdit(admin, id === undefined ? { number } : { id }, {
        ...defined({ digest }),
        dryRun,
        oneShot: isOneShot(call)
      })
    )
    ctx.implement(secretsDoctor, async (_input, call) => secretsVerdict(await admin.secrets(call.signal)))
    const errors = () => {
      const manifests = admin.plugins().flatMap(({ name }) => admin.manifest(name) ?? [])
      return readErrorCatalog(ctx.packageRoot, manifests)
    }
    ctx.implement(errorsExplain, async ({ code }, call) => {
      const all = await errors()
      const wanted = code.toUpperCase()
      const entry = all.find(each => each.code === wanted)
      if (entry === undefined) {
        const near = closest(
          wanted,
          all.map(each => each.code)
        )
        const advice = near === undefined ? 'svc errors list shows the codes' : `did you mean ${near}?`
        return call.fail('CLI_CODE_UNKNOWN', `${code}: no error code; ${advice}`)
      }
      return { ...entry, docs: errorDocs(entry) ?? null, text: errorText(entry) }
    })
    ctx.implement(errorsList, async ({ prefix = '' }) => ({
      errors: (await errors()).filter(({ code }) => code.startsWith(prefix.toUpperCase()))
    }))
  }
})

function plainPermissions({ fsRead, fsWrite, env, secrets, childProcess, worker, nativeAddons }: Permissions) {
  const copy = (list: readonly string[] | undefined): string[] | undefined => list && [...list]
  const lists = { fsRead: copy(fsRead), fsWrite: copy(fsWrite), env: copy(env), secrets: copy(secrets) }
  return defined({ ...lists, childProcess, worker, nativeAddons })
}

function verdict(findings: Finding[]): { healthy: boolean; findings: Finding[] } {
  return { healthy: findings.every(finding => finding.status !== 'error'), findings }
}

/** Adds the text for a terminal to a report. */
function changeResult(report: ChangeReport, oneShot: boolean): OutputOf<typeof pluginsEnable> {
  const { add, replace, remove, keep, steps, ...rest } = report
  const lists = { add: [...add], replace: [...replace], remove: [...remove], keep: [...keep], steps: [...steps] }
  return { ...rest, ...lists, text: oneShot ? [...steps, NOTHING_SERVES].join('\n') : changeText(report) }
}
