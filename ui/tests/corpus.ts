// Texts that want to be more than text, and what a page looks like on which they are not.
import { expect, type Page } from '@playwright/test';
import { cutOff } from './kit';

export const CORPUS = [
  '<img src=x onerror=alert(1)>',
  '<svg onload=alert(1)>',
  '</script><script>alert(1)</script>',
  '"><b id=injected>bold</b>',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '{{constructor.constructor("alert(1)")()}}',
  '{@html "<b id=injected>"}',
  '[x](javascript:alert(1))',
  '<style>*{display:none}</style>',
  '<base href=https://evil.example/>',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  'right\u202Eto left',
  'zero\u200Bwidth',
  '=cmd()',
  'nul\u0000byte',
  'replaced\uFFFDsurrogate \uFFFF\uFDD0',
  '\u2066\u2067\u2068unclosed isolates',
  '\u202D\u202E\u202Dthree overrides',
  '<a href="javascript:alert(1)" id=injected>link</a>',
  '[y](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '![z](https://evil.example/pixel.png)',
  '<svg><script>alert(1)</script><a xlink:href="javascript:alert(1)"><text y=20>x</text></a></svg>',
  '<math><mtext><img src=x onerror=alert(1)></mtext></math>',
  '<details open ontoggle=alert(1)>d</details>',
  '<form action=javascript:alert(1)><button id=injected>b</button></form>',
  '<input autofocus onfocus=alert(1)>',
  '<link rel=stylesheet href=https://evil.example/x.css>',
  '<object data=javascript:alert(1)></object><embed src=javascript:alert(1)>',
  '\'"`><x y=${alert(1)}>',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '&lt;img src=x onerror=alert(1)&gt;',
  '\u001b[31mred\u0007bell\u0008',
  'z\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309'.repeat(12),
  `${'W'.repeat(4000)}`,
];

/** Nothing of the corpus has become an element or an address. */
export const inert = async (page: Page) => {
  const found = await page.evaluate(() =>
    [
      ...document.querySelectorAll(
        `#injected, main img:not([src="/icon.svg"]), iframe, main style, base, meta[http-equiv], main script, object, embed, math, link[rel=stylesheet]:not([href^="/assets/"], [href^="${location.origin}/assets/"]), [onerror], [onload], [ontoggle], [onfocus], [href^="javascript:" i], [href^="data:" i], [action]`,
      ),
    ].map((element) => element.outerHTML.slice(0, 120)),
  );
  expect(found).toEqual([]);
};

/** The frame of the page stands where it stood, and nothing has grown out of it. */
export const intact = async (page: Page) => {
  const size = page.viewportSize()!;
  const frame = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
    rail: document.querySelector('.rail')!.getBoundingClientRect().width,
    top: document.querySelector('.top')!.getBoundingClientRect().height,
    dir: getComputedStyle(document.body).direction,
  }));
  expect(frame).toEqual({ width: size.width, height: size.height, rail: 196, top: 48, dir: 'ltr' });
  expect(await cutOff(page)).toEqual([]);
};
