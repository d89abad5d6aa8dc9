(* Traversal is lossless: on every lazily drawn tree, on every predictable build; a tree drawn up front is the same *)
(* as one drawn lazily; block verification is its chain instance.  Python: reference/verifiers/traversal.py.        *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Draftproof Require Import Programs Trees Verifiers Expectation Step Exact Populated.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Traversal.
Variables (R : realFieldType) (V : Type) (vs : seq V).
Local Notation F := (mc R).
Local Notation dtree := (dtree F V).
Local Notation ptree := (ptree F V).
Variable p : seq V -> V -> R.
Hypothesis pP : forall s, pmf vs (p s).

Local Notation respi := (@respi F V vs).
Local Notation exmass := (@exmass F V vs).

(* after a rejection at partial mass pi, the mass finally given up is 1 - pi *)
Lemma rej_respi (pi : R) (pt q : V -> R) : 0 <= pi <= 1 -> pmf vs pt -> pmf vs q ->
  (exmass pi pt q + (1 - pi)) * (1 - respi pi pt q) = 1 - pi.
Proof.
move=> pi01 ptP qP; have D0 := exmass_ge0 vs pi pt q.
rewrite /Programs.respi /=; case: ifPn => [/eqP->|Dn0].
  by rewrite add0r subr0 mulr1.
have Dp : 0 < exmass pi pt q by rewrite lt_neqAle eq_sym Dn0.
have Sn0 : exmass pi pt q + (1 - pi) != 0.
  by rewrite gt_eqF // ltr_paddr // subr_ge0; case/andP: pi01.
by rewrite mulrBr mulr1 mulrCA divff // mulr1 addrC addKr.
Qed.

(* k is the value given to "nothing accepted in this subtree" *)
Lemma traversal_E d (pi : R) pt s m g (k : R) :
  okd vs d -> 0 <= pi <= 1 -> pmf (R := R) vs pt ->
  E (traversal vs p d pi pt s) (fun o => if o is Some b then fin vs p m s g b else k)
  = pi * (\sum_(x <- vs) pt x * next vs p m s g x) + (1 - pi) * k.
Proof.
elim: d pi pt s m g k => [|q child IHc nxt IHn] pi pt s m g k /=.
  move=> _ _ _; rewrite E_bind E_flip E_ret E_bind E_draw.
  congr (_ * _ + _); apply: eq_bigr => x _.
  by rewrite E_ret fin1.
case=> qP okc okn pi01 ptP; rewrite E_bind E_draw.
set K := respi pi pt q * (\sum_(x <- vs) res (F := F) vs pi pt q x * next vs p m s g x)
         + (1 - respi pi pt q) * k.
have inner x : E (bind (traversal vs p (child x) (acc (F := F) pi pt q x) (p (rcons s x)) (rcons s x))
       (fun o => match o with
         | Some b => ret F (Some (x :: b))
         | None => traversal vs p (nxt x) (respi pi pt q) (res (F := F) vs pi pt q) s end))
     (fun o => if o is Some b then fin vs p m s g b else k)
   = acc (F := F) pi pt q x * next vs p m s g x + (1 - acc (F := F) pi pt q x) * K.
  have a01 := acc01 pi01 ptP qP x.
  rewrite E_bind; transitivity (E (traversal vs p (child x) (acc (F := F) pi pt q x)
      (p (rcons s x)) (rcons s x))
      (fun o => if o is Some b then fin vs p m s g (x :: b) else K)).
    apply: E_ext => -[b|]; first by rewrite E_ret.
    by rewrite IHn //; [apply: respi01 | apply: res_pmf].
  case: m @K => [|m] K.
    transitivity (E (traversal vs p (child x) (acc (F := F) pi pt q x)
      (p (rcons s x)) (rcons s x))
      (fun o => if o is Some b then fin vs p 0 (rcons s x) (fun=> g [::]) b else K)).
      by apply: E_ext => -[b|] //; rewrite !fin0.
    rewrite IHc //= -big_distrl /= (proj2 (pP _)) mul1r //.
  transitivity (E (traversal vs p (child x) (acc (F := F) pi pt q x)
      (p (rcons s x)) (rcons s x))
      (fun o => if o is Some b then fin vs p m (rcons s x) (fun t => g (x :: t)) b else K)).
    by apply: E_ext => -[b|] //; rewrite fin_cons.
  by rewrite IHc // -E_AR.
under eq_bigr do rewrite inner /K.
rewrite -(step pi01 ptP qP) -[X in _ = _ + X * _](rej_respi pi01 ptP qP).
rewrite -(rej_mass pi01 ptP qP) !big_distrl -big_split /=.
by apply: eq_bigr => x _; ring.
Qed.

(* at full mass nothing is ever left over: k is irrelevant, the law is the target's *)
Theorem traversal_exact_or d s m g k : okd vs d ->
  E (traversal vs p d 1 (p s) s) (fun o => if o is Some b then fin vs p m s g b else k)
  = E (AR (F := F) vs p m s) g.
Proof.
move=> ok; rewrite traversal_E ?ler01 ?lexx //.
by rewrite mul1r subrr mul0r addr0 -E_AR.
Qed.

Lemma E_emitted (m : dist F (option (seq V))) g :
  E (emitted m) g = E m (fun o => if o is Some b then g b else 0).
Proof. by rewrite E_bind; apply: E_ext => -[b|]; rewrite ?E_ret // /E big_nil. Qed.

Theorem traversal_exact d s : okd vs d -> exact vs p s (emitted (traversal vs p d 1 (p s) s)).
Proof. by move=> ok m g; rewrite E_emitted traversal_exact_or. Qed.

(* populated trees *)
Local Notation val m s g k := (fun o => if o is Some b then fin vs p m s g b else k).
Lemma traversal_on_nil pi pt s m g (k : R) : E (traversal_on vs p (@PNil F V) pi pt s) (val m s g k)
  = pi * (\sum_(x <- vs) pt x * next vs p m s g x) + (1 - pi) * k.
Proof.
rewrite /= E_bind E_flip E_ret E_bind E_draw; congr (_ * _ + _).
by apply: eq_bigr => x _; rewrite E_ret fin1.
Qed.
Lemma traversal_on_slot x q c n pi pt s m g k : E (traversal_on vs p (PSlot x q c n) pi pt s) (val m s g k)
  = E (traversal_on vs p c (acc (F := F) pi pt q x) (p (rcons s x)) (rcons s x))
      (val m.-1 (rcons s x) (shift m g x)
        (E (traversal_on vs p n (respi pi pt q) (res (F := F) vs pi pt q) s) (val m s g k))).
Proof. by rewrite /= E_bind; apply: E_ext => -[b|] //; rewrite E_ret fin_shift. Qed.

(* the value is affine in k *)
Lemma traversal_on_affine t pi pt s m g : exists A B : R, forall k, 
  E (traversal_on vs p t pi pt s) (val m s g k) = A + B * k.
Proof.
elim: t pi pt s m g => [|x q c IHc n IHn] pi pt s m g.
  by exists (pi * \sum_(x <- vs) pt x * next vs p m s g x), (1 - pi) => k; rewrite traversal_on_nil.
have [A [B AB]] := IHn (respi pi pt q) (res (F := F) vs pi pt q) s m g.
have [A' [B' AB']] := IHc (acc (F := F) pi pt q x) (p (rcons s x)) (rcons s x) m.-1 (shift m g x).
exists (A' + B' * A), (B' * B) => k; rewrite traversal_on_slot AB' AB; ring.
Qed.

(* leaf lemma: a fresh last child, anywhere, changes nothing *)
Theorem traversal_leaf t a r pi pt s m g k : okp vs t -> pmf vs r -> 0 <= pi <= 1 -> pmf vs pt ->
  \sum_(y <- vs) r y * E (traversal_on vs p (append y r t a) pi pt s) (val m s g k)
  = E (traversal_on vs p t pi pt s) (val m s g k).
Proof.
move=> + rP; elim: t a pi pt s m g k => [|x q c IHc n IHn] a pi pt s m g k.
  case: a => [|i a] _ pi01 ptP; last by apply: etrans (sum_const _ rP); apply: eq_bigr.
  rewrite traversal_on_nil -(step pi01 ptP rP) -[X in _ = _ + X * _](rej_respi pi01 ptP rP).
  rewrite -(rej_mass pi01 ptP rP) !big_distrl -big_split /=; apply: eq_bigr => y _.
  rewrite -/(traversal_on _ _) -[bind _ _]/(traversal_on vs p (PSlot y r (@PNil F V) (@PNil F V)) pi pt s).
  rewrite traversal_on_slot traversal_on_nil -E_AR // -next_shift traversal_on_nil.
  move: (\sum_(x <- vs) _) (next _ _ _ _ _ _) (acc _ _ _ _) (Programs.respi _ _ _ _) => a0 b0 c0 d0; ring.
case=> qP okc okn pi01 ptP; rewrite traversal_on_slot.
have a01 := acc01 pi01 ptP qP x; have b01 := respi01 vs pt q pi01.
have rP' : pmf (R := R) vs (res (F := F) vs pi pt q) by apply: res_pmf.
have here a' : \sum_(y <- vs) r y * E (traversal_on vs p (PSlot x q c (append y r n a')) pi pt s) (val m s g k)
   = E (traversal_on vs p c (acc (F := F) pi pt q x) (p (rcons s x)) (rcons s x))
      (val m.-1 (rcons s x) (shift m g x)
        (E (traversal_on vs p n (respi pi pt q) (res (F := F) vs pi pt q) s) (val m s g k))).
  have [A [B AB]] := traversal_on_affine c (acc (F := F) pi pt q x) (p (rcons s x)) (rcons s x) m.-1 (shift m g x).
  under eq_bigr do rewrite traversal_on_slot AB; rewrite AB; apply: sum_aff => //; exact: IHn.
case: a => [|[|i] a]; [exact: here| |exact: here].
by under eq_bigr do rewrite [append _ _ _ _]/= traversal_on_slot; apply: IHc.
Qed.

Theorem traversal_build b t pi pt s m g k : okb vs b -> okp vs t -> 0 <= pi <= 1 -> pmf vs pt ->
  E (grow vs b t) (fun t' => E (traversal_on vs p t' pi pt s) (val m s g k)) = E (traversal_on vs p t pi pt s) (val m s g k).
Proof.
move=> + + pi01 ptP; elim: b t => [|a r c IH] t /=; first by rewrite E_ret.
case=> rP okk okt; rewrite E_bind E_draw -[RHS](traversal_leaf a s m g k okt rP pi01 ptP).
by apply: eq_bigr => y _; rewrite IH //; apply: okp_append.
Qed.
(* predictable builds are lossless *)
Theorem traversal_predictable_build_or b s m g k : okb vs b ->
  E (bind (grow vs b (@PNil F V)) (fun t => traversal_on vs p t 1 (p s) s)) (val m s g k) = E (AR (F := F) vs p m s) g.
Proof.
move=> ok; rewrite E_bind traversal_build ?ler01 ?lexx // traversal_on_nil.
by rewrite mul1r subrr mul0r addr0 -E_AR.
Qed.

Theorem traversal_predictable_build b s : okb vs b ->
  exact vs p s (bind (grow vs b (@PNil F V)) (fun t => emitted (traversal_on vs p t 1 (p s) s))).
Proof.
move=> ok m g; rewrite -(traversal_predictable_build_or s m g 0 ok) !E_bind.
by apply: E_ext => t; apply: E_emitted.
Qed.

(* drawn up front = drawn lazily *)
Theorem traversal_upfront (d : dtree) pi pt s g : okd vs d ->
  E (bind (populate vs d) (fun t => traversal_on vs p t pi pt s)) g = E (traversal (F := F) vs p d pi pt s) g.
Proof.
elim: d pi pt s g => [|q c IHc n IHn] pi pt s g; first by move=> _; rewrite E_bind E_ret.
case=> qP okc okn; rewrite E_bind populateE [in RHS]/= [RHS]E_bind E_draw.
apply: eq_bigr => x _; congr (_ * _); rewrite [RHS]E_bind -(IHc x _ _ _ _ (okc x)) [RHS]E_bind.
apply: E_ext => tc; under E_ext do rewrite [traversal_on _ _ _ _ _ _]/= E_bind.
rewrite E_exch; apply: E_ext => -[b|]; first exact: (populate_const _ (okn x)).
by rewrite /= -(IHn x _ _ _ _ (okn x)) E_bind.
Qed.
(* block verification *)
Variable qd : seq V -> V -> R.
Hypothesis qP : forall s, pmf vs (qd s).

Lemma okd_chain k s : okd vs (chain (F := F) qd k s).
Proof. by elim: k s => //= k IH s. Qed.

Lemma bind_ext A B (m : dist F A) (f h : A -> dist F B) :
  f =1 h -> bind m f = bind m h.
Proof. by move=> fh; rewrite /bind; congr flatten; apply: eq_map => w; rewrite fh. Qed.

Lemma block_trav k pi s :
  block (F := F) vs p qd k pi s = traversal vs p (chain (F := F) qd k s) pi (p s) s.
Proof.
elim: k pi s => //= k IH pi s; apply: bind_ext => x; rewrite IH.
by apply: bind_ext => -[].
Qed.

Theorem block_exact_or k s m g c :
  E (block (F := F) vs p qd k 1 s) (fun o => if o is Some b then fin vs p m s g b else c)
  = E (AR (F := F) vs p m s) g.
Proof. by rewrite block_trav traversal_exact_or //; apply: okd_chain. Qed.

Theorem block_exact k s : exact vs p s (emitted (block (F := F) vs p qd k 1 s)).
Proof. by move=> m g; rewrite E_emitted block_exact_or. Qed.
End Traversal.
