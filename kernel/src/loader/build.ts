import { dirname, join } from 'node:path'
import type { PluginManifest } from '@svc/plugin-sdk'
import { Bundler } from './bundle.ts'
import { manifestOf } from './describe.ts'
import { loaderErrors } from './errors.ts'
import { type EvaluateOptions, withPackages } from './evaluate.ts'
import { nameFor } from './manifest.ts'
import { builtPage, readPluginPackage } from './plugin-package.ts'
import { replaceFile } from './replace-file.ts'

/**
 * Compiles the plugin in a folder for publishing: `dist/plugin.cjs`, `dist/plugin.json`, and the files of `svc.entries`
 * and `svc.pages`. Runs the module body, so the packages that it imports must be installed.
 *
 * Throws the errors of {@link Bundler.bundle} and {@link readPluginPackage}, `LDR_EVALUATE_FAILED` and
 * `LDR_MANIFEST_INVALID`.
 */
export async function buildPlugin(root: string, evaluation: EvaluateOptions = {}): Promise<PluginManifest> {
  const found = readPluginPackage(root)
  const { packageName, version, source, sourceExists, plugin, entries, pages } = found
  if (source === null || !sourceExists)
    throw loaderErrors.create('LDR_ENTRY_INVALID', `${root} has no source file to build`, {
      at: { file: join(root, 'package.json'), path: 'svc.source' },
      hint: 'name the plugin\'s TypeScript file in "svc": { "source": "./src/plugin.ts" }'
    })
  const bundler = new Bundler()
  try {
    const { text } = await bundler.bundle({ root, source, entries })
    const manifest = await manifestOf(
      await withPackages({ name: nameFor(packageName), root, text }),
      version,
      evaluation
    )
    // Compiled before the plugin is written, so that a page that fails leaves the last build usable.
    const compiled = await Promise.all(
      Object.entries(pages).map(async ([name, path]) => {
        const page = await bundler.page({ root, name, source: path, debug: false })
        return { file: builtPage(found, name), text: page.text }
      })
    )
    await replaceFile(plugin, text)
    for (const page of compiled) await replaceFile(page.file, page.text)
    await replaceFile(join(dirname(plugin), 'plugin.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    return manifest
  } finally {
    await bundler.dispose()
  }
}
