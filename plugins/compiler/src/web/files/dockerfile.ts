import type { Environment, EnvironmentItem } from '../../syntax/ast.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/** Install commands for packages, by a part of the base image's name. */
const INSTALLERS: readonly (readonly [image: RegExp, install: (packages: string) => string])[] = [
  [/alpine/, packages => `apk add --no-cache ${packages}`],
  [/fedora|centos|rocky|alma|ubi/, packages => `dnf install -y ${packages} && dnf clean all`]
]

const APT = (packages: string): string =>
  `apt-get update && apt-get install -y --no-install-recommends ${packages} && rm -rf /var/lib/apt/lists/*`

/** Generates `Dockerfile.<name>` for each `env`. Lines are in source order, but packages directly follow the base. */
export function dockerfiles({ module, name }: WebModule): EmittedFile[] {
  return itemsOf(module, 'Environment').map(environment => ({
    path: `Dockerfile.${environment.name.text}`,
    text: dockerfile(environment, name)
  }))
}

function dockerfile({ items }: Environment, sourceName: string): string {
  const base = items.find(item => item.kind === 'EnvironmentValue' && item.key === 'base')
  const image = base?.kind === 'EnvironmentValue' ? wordOf(base.value) : 'debian:stable-slim'
  const packages = items.flatMap(item =>
    item.kind === 'EnvironmentValue' && item.key === 'packages' ? wordsOf(item.value) : []
  )
  const install = INSTALLERS.find(([pattern]) => pattern.test(image))?.[1] ?? APT
  const lines = [
    `# Generated from ${sourceName}.vox by svc build; the next build overwrites it.`,
    `FROM ${image}`,
    ...(packages.length === 0 ? [] : [`RUN ${install(packages.map(quoted).join(' '))}`]),
    ...items.flatMap(instructions)
  ]
  return `${lines.join('\n')}\n`
}

function instructions(item: EnvironmentItem): string[] {
  if (item.kind === 'EnvironmentVariable') return [`ENV ${item.name.text}=${JSON.stringify(wordOf(item.value))}`]
  if (item.kind === 'EnvironmentCopy') return [`COPY ${JSON.stringify([item.from.value, item.to.value])}`]
  switch (item.key) {
    case 'expose':
      return wordsOf(item.value).map(port => `EXPOSE ${port}`)
    case 'volumes':
      return [`VOLUME ${JSON.stringify(wordsOf(item.value))}`]
    case 'workdir':
      return [`WORKDIR ${wordOf(item.value)}`]
    case 'run':
      return [`RUN ${wordOf(item.value).replaceAll('\n', ' \\\n    ')}`]
    case 'cmd':
      return [`CMD ${item.value.kind === 'List' ? JSON.stringify(wordsOf(item.value)) : wordOf(item.value)}`]
    default:
      return []
  }
}

function wordsOf(expression: Expression): string[] {
  return expression.kind === 'List' ? expression.items.map(wordOf) : [wordOf(expression)]
}

/** Returns the value of a literal. Other expressions have no value at build time; the checks report them. */
function wordOf(expression: Expression): string {
  switch (expression.kind) {
    case 'String':
      return expression.value
    case 'Int':
    case 'Float':
    case 'Decimal':
      return expression.digits
    case 'Bool':
      return String(expression.value)
    default:
      return ''
  }
}

/** Quotes a package as one shell word. */
function quoted(word: string): string {
  return /^[\w.+:=~@/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
