import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    // Shorter than the default `svelte-…`: it is repeated for every scoped element.
    cssHash: ({ hash, css }) => `s${hash(css).slice(0, 5)}`,
  },
};
