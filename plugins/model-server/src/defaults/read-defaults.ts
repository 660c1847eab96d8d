import type { CatalogueEntry } from '../catalogue/catalogue.ts'
import { readLayerFiles } from './layer-files.ts'
import type { ModelDefaults } from './model-defaults.ts'
import { mergedDefaults, readWrittenDefaults } from './written-defaults.ts'

/** Returns the defaults of a model: those that were pulled with its files, and over them those of its entry. */
export async function readDefaults({
  path,
  defaults = {}
}: Pick<CatalogueEntry, 'path' | 'defaults'>): Promise<ModelDefaults> {
  const { written, notes } = await readLayerFiles(path)
  return readWrittenDefaults(mergedDefaults(written, defaults), notes)
}
